// What the server takes in a request's field. Each line stands for a check of the server; a test sends what lies just outside.
#include "server/http/bounds.h"

#include <limits>
#include <map>
#include <set>
#include <string>

#include "core/experiment/foreign.h"
#include "core/limits.h"

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;

Json page_token(const std::string& kind) { return {{"pattern", "^(" + kind + ":[0-9]{1,18})?$"}}; }

// The checker of labels wants a JSON object; a pattern can say as much of that. In an address: no control characters.
Json labels() { return {{"pattern", "^( *\\{[^\\x00-\\x1f\\x7f]*\\} *)?$"}}; }

Json one_of(std::vector<std::string> words) {
  words.insert(words.begin(), "");  // the default
  return {{"enum", words}};
}

Json at_least(std::int64_t least) { return {{"minimum", least}}; }
Json between(std::int64_t least, std::int64_t most) { return {{"minimum", least}, {"maximum", most}}; }

const std::map<std::string, Json>& table() {
  static const std::map<std::string, Json> kTable = {
      {"ListAuditRequest.limit", between(0, 1000)},
      {"ListExperimentsRequest.page_size", at_least(0)},
      {"ListExperimentsRequest.page_token", page_token("experiment")},
      {"ListTrialsRequest.page_size", at_least(0)},
      {"ListTrialsRequest.page_token", page_token("trial")},
      {"ListArtifactsRequest.page_size", at_least(0)},
      {"ListArtifactsRequest.page_token", page_token("artifact")},
      {"GetTableRequest.first_rows", at_least(0)},
      {"GetTableRequest.labels", labels()},
      {"GetCurvesRequest.metric", {{"minLength", 1}}},
      {"GetCurvesRequest.labels", labels()},
      {"GetCurvesRequest.max_points", at_least(0)},
      {"GetCurvesRequest.band", one_of({"std", "interval"})},
      {"GetCurvesRequest.from_step", at_least(0)},
      {"GetCurvesRequest.to_step", at_least(0)},
      {"QuerySeriesRequest.max_points", at_least(0)},
      {"ListForeignSeriesRequest.max_points", at_least(0)},
      {"ListForeignSeriesRequest.labels", labels()},
      {"ImportSeriesRequest.source", {{"minLength", 1}, {"maxLength", kForeignSourceLength}}},
      {"ImportSeriesRequest.format", {{"pattern", "^[a-z0-9-]{1,40}$"}}},
      {"ImportSeriesRequest.series", {{"minItems", 1}, {"maxItems", kForeignSeriesMost}}},
      {"SeriesKey.metric", {{"minLength", 1}, {"maxLength", 128}}},
      {"SeriesKey.split", {{"maxLength", 128}}},
      {"SeriesKey.labels", labels()},
      {"ReadLogRequest.max_bytes", between(0, kLogBytes)},
      {"DownloadArtifactRequest.offset", at_least(0)},
      {"CompareRequest.labels", labels()},
      {"CompareRequest.items",
       {{"minItems", 2}, {"maxItems", 16}, {"items", {{"pattern", "^[^/\\x00-\\x1f\\x7f]+(/cells)?/[0-9]{1,18}$"}}}}},
      {"GetPaperTableRequest.experiments", {{"minItems", 1}, {"maxItems", 16}, {"uniqueItems", true}}},
      {"GetPaperTableRequest.metrics", {{"maxItems", 16}}},
      {"GetPaperTableRequest.test", one_of({"sign-flip", "paired-t", "welch"})},
      {"GetPaperTableRequest.correction", one_of({"holm", "none"})},
      {"GetPaperTableRequest.level", {{"minimum", 0}, {"exclusiveMaximum", 1}}},
      {"GetPaperTableRequest.alpha", {{"minimum", 0}, {"exclusiveMaximum", 1}}},
      {"GetPaperTableRequest.spread", one_of({"std", "interval", "none"})},
      {"GetPaperTableRequest.digits", between(0, 15)},
      {"GetPaperTableRequest.detect", at_least(0)},
      {"GetPaperTableRequest.format", one_of({"text", "latex", "markdown", "csv", "json", "html"})},
      {"GetPaperTableRequest.first_rows", at_least(0)},
      {"TableFilter.values", {{"minItems", 1}}},
      {"PlanExperimentRequest.spec_json", {{"minLength", 2}, {"maxLength", kSpecBytes}, {"pattern", "^\\s*\\{"}}},
      {"CreateExperimentRequest.spec_json", {{"minLength", 2}, {"maxLength", kSpecBytes}, {"pattern", "^\\s*\\{"}}},
      {"DrainWorkerRequest.reason", {{"maxLength", kReasonLength}}},
      {"WatchEventsRequest.cursor", at_least(-1)},
      {"DrawPriorRequest.rows", between(0, 64)},
      {"DrawPriorRequest.columns", between(0, 64)},
      {"DrawPriorRequest.heads", between(0, 32)},
      {"DrawPriorRequest.head_width", between(0, 128)},
      {"DrawPriorRequest.layer", between(0, 47)},
      {"DrawPriorRequest.layers", between(0, 48)},
      {"DrawPriorRequest.seed", at_least(0)},
      {"ListDecisionsRequest.after", at_least(0)},
      {"ListDecisionsRequest.page_size", at_least(0)},
      {"ProposeRequest.request_id", {{"minLength", 1}, {"maxLength", 200}}},
      {"ProposeRequest.proposer", {{"maxLength", 200}}},
      {"ProposeRequest.cells", {{"minItems", 1}, {"maxItems", 1000}}},
      {"StopTrialsRequest.trials", {{"minItems", 1}, {"maxItems", 10'000}}},
      {"StopTrialsRequest.reason", {{"minLength", 1}, {"maxLength", 1000}}},
      {"ContinueTrialsRequest.trials", {{"minItems", 1}, {"maxItems", 10'000}}},
      {"ContinueTrialsRequest.reason", {{"minLength", 1}, {"maxLength", 1000}}},
      {"DrawTrialRequest.step", at_least(0)},
      {"DrawTrialRequest.stage", at_least(0)},
      {"DrawTrialRequest.checkpoint", {{"pattern", "^([0-9]{1,18}|best|last|initial)?$"}}},
      {"DrawTrialRequest.split", one_of({"train", "validation", "test"})},
  };
  return kTable;
}

std::string name_of(const FieldDescriptor* field) { return field->containing_type()->name() + "." + field->name(); }

}  // namespace

Json bounds_of(const FieldDescriptor* field) {
  Json out = Json::object();
  if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    out = between(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  }
  if (const auto found = table().find(name_of(field)); found != table().end()) out.update(found->second);
  return out;
}

bool is_wanted(const FieldDescriptor* field) {
  static const std::set<std::string> kWanted = {
      "GetCurvesRequest.metric",
      "SeriesKey.metric",
      "CompareRequest.items",
      "GetPaperTableRequest.experiments",
      "PlanExperimentRequest.spec_json",
      "CreateExperimentRequest.spec_json",
      "ProposeRequest.request_id",
      "ProposeRequest.cells",
      "StopTrialsRequest.reason",
      "StopTrialsRequest.trials",
      "ContinueTrialsRequest.reason",
      "ContinueTrialsRequest.trials",
  };
  return kWanted.contains(name_of(field));
}

}  // namespace locus::server

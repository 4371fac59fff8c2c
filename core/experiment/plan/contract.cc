// The metric contract, and the stages it asks for.
#include "core/experiment/plan/contract.h"

#include <algorithm>

#include "core/catalog/options.h"
#include "core/experiment/reduction.h"

namespace locus {
namespace {

constexpr char kTest[] = "test";

// A training stage measures on what it may see; everything else is a later stage's to measure.
bool measured_by_training(const std::string& split) { return split == "train" || split == "validation"; }

absl::StatusOr<std::string> one_of(const std::optional<std::string>& given, const std::string& otherwise,
                                   std::vector<std::string> choices, const std::string& field) {
  OptionSpec rule;
  rule.name = field, rule.type = "string", rule.choices = std::move(choices);
  LOCUS_ASSIGN_OR_RETURN(const Json value, check_option(rule, given.value_or(otherwise), field));
  return value.get<std::string>();
}

const Json* metric_of_task(const CatalogItem& task, const std::string& name) {
  const auto metrics = task.facts.find("metrics");
  if (metrics == task.facts.end() || !metrics->is_array()) return nullptr;
  for (const Json& metric : *metrics) {
    if (metric.value("name", "") == name) return &metric;
  }
  return nullptr;
}

absl::Status unknown_metric(const CatalogItem& task, const std::string& name) {
  std::vector<std::string> known;
  std::string list;
  for (const Json& metric : task.facts.value("metrics", Json::array())) {
    known.push_back(metric.value("name", ""));
    list += (list.empty() ? "" : ", ") + known.back();
  }
  const auto nearest = nearest_name(name, known);
  return refuse(
      ErrorReason::kUnknownItem,
      "the task '" + task.id + "' has no metric '" + name + "'" +
          (nearest ? "; did you mean '" + *nearest + "'? (known: " + list + ")" : "; choose one of: " + list),
      "metric.name", {{"metric", name}});
}

bool evaluates(const ResolvedStage& stage, const std::string& split) {
  return stage.item->kind == "stage" && stage.item->id != "train" &&
         stage.resolved.value("split", "") == split;
}

absl::Status connect(std::vector<ResolvedStage>& stages, std::size_t index) {
  ResolvedStage& stage = stages[index];
  for (const Json& input : stage.item->facts.value("inputs", Json::array())) {
    const std::string from = input.value("from", ""), slot = input.value("slot", "");
    std::size_t source = index;
    for (std::size_t i = 0; i < index; ++i) {
      if (stages[i].item->id == from) source = i;
    }
    if (source == index) {
      return refuse(ErrorReason::kInvalidSpecification,
                    "the stage " + stage.role + " needs the " + slot + " of an earlier " + from +
                        " stage, and there is none; list " + from + " before it",
                    stage.field);
    }
    stage.inputs.emplace_back(slot, source);
  }
  return absl::OkStatus();
}

absl::Status add_stage(const std::string& role, const std::string& kind, const Json& options,
                       const std::string& field, const Catalog& catalog, std::vector<ResolvedStage>& stages) {
  ResolvedStage stage;
  stage.role = role;
  stage.field = field;
  LOCUS_ASSIGN_OR_RETURN(stage.item, catalog.get("stage", kind, field));
  LOCUS_ASSIGN_OR_RETURN(stage.resolved, catalog.resolve(*stage.item, options, field));
  stage.scientific = catalog.scientific(*stage.item, stage.resolved);
  stages.push_back(std::move(stage));
  return connect(stages, stages.size() - 1);
}

}  // namespace

absl::StatusOr<std::vector<ResolvedStage>> resolve_stages(const Specification& spec,
                                                          const MetricContract& metric,
                                                          const Catalog& catalog,
                                                          std::vector<std::string>& warnings) {
  std::vector<ResolvedStage> stages;
  LOCUS_RETURN_IF_ERROR(add_stage("train", "train", Json::object(), "stages", catalog, stages));
  int evaluations = 0;
  for (const StageRequest& request : spec.stages) {
    LOCUS_RETURN_IF_ERROR(
        add_stage(request.role, request.kind, request.options, request.field, catalog, stages));
    evaluations += request.kind == "evaluate";
  }
  const bool covered = std::any_of(stages.begin(), stages.end(), [&](const ResolvedStage& stage) {
    return evaluates(stage, metric.reports);
  });
  if (measured_by_training(metric.reports) || covered) return stages;
  const std::string role = evaluations == 0 ? "evaluate" : "evaluate-" + std::to_string(evaluations + 1);
  if (evaluations > 0) {
    warnings.push_back("no listed stage evaluates the reported split " + metric.reports + "; a stage " +
                       role + " was added");
  }
  LOCUS_ASSIGN_OR_RETURN(const CatalogItem* evaluate, catalog.get("stage", "evaluate", "metric.reports"));
  LOCUS_ASSIGN_OR_RETURN(const Json defaults, catalog.resolve(*evaluate, Json::object(), "stages"));
  const Json options =
      defaults.value("split", "") == metric.reports ? Json::object() : Json({{"split", metric.reports}});
  LOCUS_RETURN_IF_ERROR(add_stage(role, "evaluate", options, "metric.reports", catalog, stages));
  return stages;
}

absl::StatusOr<MetricContract> resolve_metric(const MetricRequest& request, const ResolvedSection& task) {
  MetricContract out;
  out.name = request.name.value_or(task.item->facts.value("default_metric", ""));
  const Json* metric = metric_of_task(*task.item, out.name);
  if (!metric) return unknown_metric(*task.item, out.name);
  const std::string direction = metric->value("direction", "max");
  if (request.selects_on == kTest) {
    return refuse(
        ErrorReason::kOptionOutOfRange,
        "selects_on must not be test: choosing by the test split makes its numbers worthless; use validation",
        "metric.selects_on", {{"value", kTest}});
  }
  LOCUS_ASSIGN_OR_RETURN(out.reports,
                         one_of(request.reports, kTest, {"train", "validation", kTest}, "metric.reports"));
  LOCUS_ASSIGN_OR_RETURN(
      out.selects_on, one_of(request.selects_on, "validation", {"train", "validation"}, "metric.selects_on"));
  LOCUS_ASSIGN_OR_RETURN(out.direction,
                         one_of(request.direction, direction, {"max", "min"}, "metric.direction"));
  out.reduce = request.reduce.value_or("last");
  LOCUS_RETURN_IF_ERROR(parse_reduction(out.reduce, out.reports, "metric.reduce").status());
  out.unit = request.unit.value_or(metric->value("unit", ""));
  if (out.direction == direction) return out;
  return refuse(ErrorReason::kInvalidSpecification,
                out.name + " is better the " + (direction == "max" ? "larger" : "smaller") +
                    " it is; direction must be " + direction + " or left out",
                "metric.direction", {{"metric", out.name}, {"direction", direction}});
}

Json evaluation_labels(const std::vector<ResolvedStage>& stages, const MetricContract& metric,
                       const ResolvedSection& dataset) {
  if (measured_by_training(metric.reports)) return Json::object();
  const Json extent = dataset.item->facts.value("extent", Json::array());
  const Json native = extent.empty() ? Json() : extent[0];
  Json first;
  for (const ResolvedStage& stage : stages) {
    if (!evaluates(stage, metric.reports)) continue;
    const Json listed = stage.resolved.value("resolution", Json::array());
    const bool has_native = listed.empty() || std::find(listed.begin(), listed.end(), native) != listed.end();
    if (has_native) return native.is_null() ? Json::object() : Json({{"resolution", native}});
    if (first.is_null()) first = listed[0];
  }
  return first.is_null() ? Json::object() : Json({{"resolution", first}});
}

}  // namespace locus

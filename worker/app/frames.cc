// Frame translation.
#include "worker/app/frames.h"

#include "core/base/trainer_protocol.h"
#include "core/base/utf8.h"
#include "core/experiment/model.h"
#include "core/limits.h"

namespace locus {
namespace {

v1::SeriesKey key_of(const Json& json) {
  v1::SeriesKey key;
  key.set_metric(json.at("metric").get<std::string>());
  key.set_split(json.value("split", ""));
  key.set_labels(canonical_json(json.value("labels", Json::object())));
  return key;
}

std::string clipped(std::string text) {
  if (text.size() > static_cast<std::size_t>(kReasonLength)) text.resize(kReasonLength);
  return text;
}

}  // namespace

std::int64_t integer_of(const Json& json) {
  if (!json.is_number_integer()) throw FrameError("a step or count that is no whole number: " + json.dump());
  return json.get<std::int64_t>();
}

std::int64_t integer_of(const Json& frame, const char* field) {
  return frame.contains(field) ? integer_of(frame.at(field)) : 0;
}

std::vector<v1::PointColumns> points_of(const Json& frame) {
  v1::PointColumns dictionary;
  for (const Json& series : frame.at("series")) *dictionary.add_series() = key_of(series);
  std::vector<v1::PointColumns> pieces;
  for (const Json& row : frame.at("rows")) {
    if (pieces.empty() || pieces.back().value_size() == kPointsPerBatch) pieces.push_back(dictionary);
    v1::PointColumns& columns = pieces.back();
    const std::int64_t index = integer_of(row.at(0));
    if (index < 0 || index >= dictionary.series_size()) throw FrameError("a point of a series that is not listed");
    columns.add_series_index(static_cast<std::uint32_t>(index));
    columns.add_step(integer_of(row.at(1)));
    columns.add_epoch(number_from_json(row.at(2)));
    columns.add_images(integer_of(row.at(3)));
    columns.add_time_us(integer_of(row.at(4)));
    columns.add_value(number_from_json(row.at(5)));
  }
  return pieces;
}

v1::CompleteAttemptRequest failed_outcome(const std::string& failure_class, const std::string& reason) {
  v1::CompleteAttemptRequest outcome;
  outcome.set_outcome("failed");
  outcome.set_failure_class(failure_class);
  outcome.set_reason(valid_utf8(clipped(reason)));
  return outcome;
}

v1::CompleteAttemptRequest outcome_of(const Json& frame) {
  v1::CompleteAttemptRequest outcome;
  if (frame.at("type") == "failed") {
    const auto failure_class = frame.at("class").get<std::string>();
    outcome = failed_outcome(parse_failure_class(failure_class) ? failure_class : "code",
                             frame.at("reason").get<std::string>());
  } else {
    outcome.set_outcome(frame.at("outcome").get<std::string>());
    if (outcome.outcome() == kOutcomeParked) outcome.set_step(integer_of(frame.at("step")));
    for (const Json& json : frame.value("results", Json::array())) {
      auto* result = outcome.add_results();
      *result->mutable_key() = key_of(json);
      result->set_reducer(json.value("reducer", "last"));
      result->set_value(number_from_json(json.at("value")));
      result->set_step(integer_of(json, "step"));
    }
  }
  if (frame.contains("environment")) outcome.set_environment_json(canonical_json(frame.at("environment")));
  return outcome;
}

std::vector<Link::ProducedFile> outputs_of(const Json& frame) {
  std::vector<Link::ProducedFile> outputs;
  for (const Json& json : frame.value("outputs", Json::array())) {
    outputs.push_back(
        {json.at("slot").get<std::string>(), json.at("path").get<std::string>(), integer_of(json, "step")});
  }
  return outputs;
}

Json start_frame(const Attempt& attempt, const std::vector<std::pair<std::string, std::string>>& inputs,
                 const std::string& resume, std::int64_t until_step, const SlotExecution& execution) {
  Json files = Json::object();
  for (const auto& [slot, path] : inputs) files[slot] = path;
  return {{"type", "start"},
          {"attempt", attempt.name()},
          {"stage", Json::parse(attempt.grant().config_json())},
          {"inputs", files},
          {"resume", resume.empty() ? Json() : Json(resume)},
          {"until", until_step},
          {"execution",
           {{"device", execution.device},
            {"index", execution.index},
            {"threads", execution.threads},
            {"data_root", execution.data_root.string()},
            {"work", execution.work.string()},
            {"checkpoint_seconds", execution.checkpoint_seconds}}}};
}

}  // namespace locus

// Core values to messages and back.
#include "server/wire/convert.h"

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/json.h"
#include "core/base/json_document.h"
#include "core/experiment/series_labels.h"
#include "core/limits.h"

namespace locus::server {
namespace {

constexpr std::size_t kMetricNameLength = 128;

}  // namespace

google::protobuf::Timestamp to_timestamp(Microseconds wall_us) {
  google::protobuf::Timestamp out;
  std::int64_t seconds = wall_us / 1'000'000, micros = wall_us % 1'000'000;
  if (micros < 0) micros += 1'000'000, --seconds;
  out.set_seconds(seconds);
  out.set_nanos(static_cast<int>(micros * 1000));
  return out;
}

google::protobuf::Duration to_duration(std::chrono::microseconds value) {
  google::protobuf::Duration out;
  out.set_seconds(value.count() / 1'000'000);
  out.set_nanos(static_cast<int>(value.count() % 1'000'000 * 1000));
  return out;
}

Microseconds from_duration(const google::protobuf::Duration& value) {
  constexpr std::int64_t kMost = 1'000'000'000;  // seconds; keeps hostile values from overflowing
  return std::clamp<std::int64_t>(value.seconds(), -kMost, kMost) * 1'000'000 + value.nanos() / 1000;
}

absl::StatusOr<SeriesKey> from_proto(const v1::SeriesKey& key, const std::string& field) {
  if (key.metric().empty() || key.metric().size() > kMetricNameLength) {
    return invalid(field + ".metric", "a metric's name has 1 to 128 bytes; \"" + key.metric().substr(0, 40) +
                                          "\" has " + std::to_string(key.metric().size()));
  }
  if (key.split().size() > kMetricNameLength) return invalid(field + ".split", "a split's name has at most 128 bytes");
  LOCUS_ASSIGN_OR_RETURN(std::string labels, canonical_labels(key.labels(), field + ".labels"));
  return SeriesKey{key.metric(), key.split(), std::move(labels)};
}

void to_proto(const SeriesKey& key, v1::SeriesKey* out) {
  out->set_metric(key.metric);
  out->set_split(key.split);
  out->set_labels(key.labels);
}

void to_proto(const Result& result, v1::Result* out) {
  to_proto(result.key, out->mutable_key());
  out->set_reducer(result.reducer);
  out->set_value(result.value);
  out->set_step(result.step);
}

void to_proto(const EventRow& event, v1::Event* out) {
  out->set_id(event.id);
  *out->mutable_time() = to_timestamp(event.time_us);
  out->set_subject(event.subject);
  out->set_kind(event.kind);
  out->set_json(event.json);
}

absl::StatusOr<PointBatch> from_proto(const v1::PointColumns& columns) {
  const auto size = static_cast<std::int64_t>(columns.value_size());
  if (size > kPointsPerBatch || columns.series_size() > kSeriesPerStage) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "a batch of " + std::to_string(size) + " points was sent; at most " +
                          std::to_string(kPointsPerBatch) + " are taken at once, send smaller ones",
                      "points", {{"points", std::to_string(size)}, {"most", std::to_string(kPointsPerBatch)}});
  }
  if (columns.series_index_size() != size || columns.step_size() != size || columns.epoch_size() != size ||
      columns.images_size() != size || columns.time_us_size() != size) {
    return invalid("points", "the columns of the batch differ in length; each point needs one entry in every column");
  }
  PointBatch batch;
  for (int i = 0; i < columns.series_size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(SeriesKey key, from_proto(columns.series(i), "points.series[" + std::to_string(i) + "]"));
    batch.series.push_back(std::move(key));
  }
  for (std::uint32_t index : columns.series_index()) {
    if (index >= batch.series.size()) {
      return invalid("points.series_index", "series index " + std::to_string(index) + " names none of the batch's " +
                                                std::to_string(batch.series.size()) + " series");
    }
  }
  for (std::int64_t step : columns.step()) {
    if (step < 0) return invalid("points.step", "step " + std::to_string(step) + " is negative; steps count from 0");
  }
  batch.series_index.assign(columns.series_index().begin(), columns.series_index().end());
  batch.step.assign(columns.step().begin(), columns.step().end());
  batch.epoch.assign(columns.epoch().begin(), columns.epoch().end());
  batch.images.assign(columns.images().begin(), columns.images().end());
  batch.time_us.assign(columns.time_us().begin(), columns.time_us().end());
  batch.value.assign(columns.value().begin(), columns.value().end());
  return batch;
}

absl::StatusOr<std::vector<Result>> from_proto(const google::protobuf::RepeatedPtrField<v1::Result>& results) {
  if (results.size() > kSeriesPerStage) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "a stage may report at most " + std::to_string(kSeriesPerStage) + " results, not " +
                          std::to_string(results.size()),
                      "results", {{"most", std::to_string(kSeriesPerStage)}});
  }
  std::vector<Result> out;
  for (int i = 0; i < results.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(SeriesKey key, from_proto(results[i].key(), "results[" + std::to_string(i) + "].key"));
    out.push_back({std::move(key), results[i].reducer(), results[i].value(), results[i].step()});
  }
  return out;
}

std::vector<StatedAttempt> from_proto(const google::protobuf::RepeatedPtrField<v1::HeldAttempt>& held) {
  std::vector<StatedAttempt> out;
  for (const auto& item : held) out.push_back({item.stage(), item.attempt(), item.step(), item.steps(), item.phase()});
  return out;
}

v1::Wish to_proto(LeaseWish wish) {
  switch (wish) {
    case LeaseWish::kContinue:
      return v1::WISH_CONTINUE;
    case LeaseWish::kCheckpointAndStop:
      return v1::WISH_CHECKPOINT_AND_STOP;
    case LeaseWish::kCancel:
      return v1::WISH_CANCEL;
    case LeaseWish::kDrop:
      return v1::WISH_DROP;
  }
  return v1::WISH_UNSPECIFIED;
}

std::string slots_to_json(const google::protobuf::RepeatedPtrField<v1::Slot>& slots) {
  Json out = Json::array();
  for (const auto& slot : slots) {
    out.push_back({{"device", slot.device()},
                   {"index", slot.index()},
                   {"threads", slot.threads()},
                   {"name", slot.name()},
                   {"memory_bytes", slot.memory_bytes()}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string data_to_json(const v1::HeldData& data) {
  Json out = {{"held", Json::array()}, {"missing", Json::object()}};
  const std::set<std::string> held(data.datasets().begin(), data.datasets().end());
  for (const std::string& dataset : held) out["held"].push_back(dataset);
  for (const auto& [dataset, why] : data.missing()) out["missing"][dataset] = why;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void data_from_json(const std::string& json, v1::HeldData* out) {
  const Json data = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!data.is_object()) return;
  for (const Json& dataset : data.value("held", Json::array())) out->add_datasets(dataset.get<std::string>());
  const Json missing = data.value("missing", Json::object());
  for (const auto& [dataset, why] : missing.items()) (*out->mutable_missing())[dataset] = why.get<std::string>();
}

void slots_from_json(const std::string& json, google::protobuf::RepeatedPtrField<v1::Slot>* out) {
  const Json slots = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!slots.is_array()) return;
  for (const Json& slot : slots) {
    auto* item = out->Add();
    item->set_device(slot.value("device", ""));
    item->set_index(slot.value("index", 0));
    item->set_threads(slot.value("threads", 0));
    item->set_name(slot.value("name", ""));
    item->set_memory_bytes(slot.value("memory_bytes", std::int64_t{0}));
  }
}

}  // namespace locus::server

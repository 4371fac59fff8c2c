// Samples in, series out.
#include "server/analysis/system_series.h"
#include "core/experiment/series_labels.h"
#include "core/log/log.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/limits.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr std::size_t kMetricLength = 64;

SystemSample sample_of(const v1::SystemSample& from) {
  SystemSample out;
  for (const auto& value : from.values()) {
    if (!is_system_metric(value.metric()) || value.metric().size() > kMetricLength) continue;
    if (value.metric().find_first_of(" \t\n") != std::string::npos || !std::isfinite(value.value())) continue;
    const auto labels = canonical_labels(value.labels(), "labels");
    if (labels.ok() && static_cast<int>(out.values.size()) < kSystemValuesMost)
      out.values[{value.metric(), "", *labels}] = value.value();
  }
  return out;
}

void keep(Store& store, Mutation mutation, Microseconds now) {
  const absl::Status status = store.apply({&mutation, 1}, now);
  if (!status.ok()) log_debug("a sample is dropped: {}", std::string(status.message()));
}

}  // namespace

bool is_system_metric(const std::string& metric) { return metric.starts_with(kSystemMetrics); }

void keep_samples(Store& store, const v1::SyncLeasesRequest& request, Microseconds now) {
  if (SystemSample sample = sample_of(request.sample()); !sample.values.empty())
    keep(store, AddWorkerSample{request.session(), std::move(sample)}, now);
  for (const auto& held : request.held()) {
    SystemSample sample = sample_of(held.sample());
    if (sample.values.empty()) continue;
    sample.step = std::max<std::int64_t>(0, held.step());
    keep(store, AddAttemptSample{held.stage(), held.attempt(), request.session(), std::move(sample)}, now);
  }
}

absl::StatusOr<std::vector<SeriesKey>> system_series(Store& store, StageId id) {
  LOCUS_ASSIGN_OR_RETURN(const auto samples, store.samples(id));
  std::set<SeriesKey> keys;
  for (const AttemptSample& one : samples) {
    for (const auto& [key, value] : one.sample.values) keys.insert(key);
  }
  return std::vector<SeriesKey>(keys.begin(), keys.end());
}

absl::StatusOr<SeriesPoints> system_points(Store& store, StageId id, const SeriesKey& key, int most, StepRange range) {
  LOCUS_ASSIGN_OR_RETURN(const auto samples, store.samples(id));
  std::vector<Point> all;
  bool known = false;
  for (const AttemptSample& one : samples) {
    const auto value = one.sample.values.find(key);
    if (value == one.sample.values.end()) continue;
    known = true;
    if (range.contains(one.sample.step)) all.push_back({one.sample.step, 0, 0, one.sample.time_us, value->second});
  }
  if (!known) {
    return make_error(
        absl::StatusCode::kNotFound, ErrorReason::kSeriesNotFound,
        "stage " + std::to_string(id) + " has no samples of " + valid_utf8(key.metric) + "; list its series", "metric",
        {{"stage", std::to_string(id)}, {"metric", valid_utf8(key.metric)}});
  }
  std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) { return a.step < b.step; });
  SeriesPoints out{{0, id, key, static_cast<std::int64_t>(all.size())}, std::move(all), false};
  const std::size_t count = out.points.size(), room = static_cast<std::size_t>(std::max(most, 0));
  if (room < 2 || count <= room) return out;
  std::vector<Point> chosen;
  for (std::size_t i = 0; i < room; ++i) chosen.push_back(out.points[i * (count - 1) / (room - 1)]);
  out.points = std::move(chosen);
  out.reduced = true;
  return out;
}

absl::Status fill_system(Store& store, WorkerId id, v1::WorkerDetail* out) {
  LOCUS_ASSIGN_OR_RETURN(const auto samples, store.worker_samples(id));
  std::map<SeriesKey, v1::SystemSeries*> series;
  for (const SystemSample& sample : samples) {
    for (const auto& [key, value] : sample.values) {
      auto& one = series[key];
      if (one == nullptr) {
        one = out->add_system();
        to_proto(key, one->mutable_key());
      }
      one->add_time_us(sample.time_us);
      one->add_value(value);
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::server

// Curves of one metric.
#include "server/rpc/curves_query.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "core/statistics/table.h"
#include "server/rpc/convert.h"
#include "server/rpc/queries.h"

namespace locus::server {
namespace {

constexpr int kPointsDefault = 400, kPointsMost = 10'000, kPointsLeast = 8;
constexpr std::size_t kValuesMost = 200'000;  // of all single curves together: what fits a message
constexpr std::size_t kSeriesListed = 1000;

// How many points one trial's curve may have; 0 when there are too many trials for single curves.
int points_per_trial(int asked, std::size_t trials) {
  const std::size_t room = trials == 0 ? kValuesMost : kValuesMost / trials;
  if (room < static_cast<std::size_t>(kPointsLeast)) return 0;
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(asked), room));
}

void add_trial(const TrialRow& trial, const SeriesPoints& points, v1::Curves* out) {
  auto* curve = out->add_trials();
  curve->set_trial(static_cast<int>(trial.ordinal));
  curve->set_cell(static_cast<int>(trial.cell));
  curve->set_seed(trial.seed);
  curve->set_reduced(points.reduced);
  for (const Point& point : points.points) {
    curve->add_step(point.step);
    curve->add_value(point.value);
  }
}

// The curve of a trial under this key, from the first of its stages that has one.
absl::StatusOr<std::optional<StageId>> stage_with(Store& store, const TrialView& trial, const SeriesKey& key,
                                                  std::set<SeriesKey>* available) {
  std::optional<StageId> out;
  for (const TrialStageView& stage : trial.stages) {
    if (stage.stage.attempt == 0) continue;
    LOCUS_ASSIGN_OR_RETURN(const auto rows, store.series(stage.stage.id));
    for (const SeriesRow& row : rows) {
      if (available->size() < kSeriesListed) available->insert(row.key);
      if (!out && row.key == key) out = stage.stage.id;
    }
  }
  return out;
}

absl::StatusOr<SeriesKey> key_of(const v1::GetCurvesRequest& request) {
  if (request.metric().empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kMissingKey,
                      "metric is empty; name one, such as loss with split train", "metric");
  }
  LOCUS_ASSIGN_OR_RETURN(std::string labels, canonical_labels(request.labels(), "labels"));
  return SeriesKey{request.metric(), request.split(), std::move(labels)};
}

}  // namespace

std::vector<BandPoint> band_of(const std::vector<std::vector<Point>>& curves) {
  std::map<std::int64_t, std::map<std::size_t, double>> by_step;
  std::multiset<std::int64_t> ends;  // last steps of the curves that reach the step at hand
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].empty()) continue;
    ends.insert(curves[i].back().step);
    for (const Point& point : curves[i]) by_step[point.step][i] = point.value;
  }
  std::vector<BandPoint> out;
  for (const auto& [step, of_step] : by_step) {
    ends.erase(ends.begin(), ends.lower_bound(step));
    if (of_step.size() != ends.size()) continue;
    std::vector<double> values;
    for (const auto& [curve, value] : of_step) values.push_back(value);
    out.push_back({step, sample_mean(values), sample_std(values), static_cast<int>(values.size())});
  }
  return out;
}

std::vector<BandPoint> thin(const std::vector<BandPoint>& band, int most) {
  const std::size_t size = band.size();
  if (most <= 0 || size <= static_cast<std::size_t>(most)) return band;
  if (most == 1) return {band.back()};
  if (most < 4) return {band.front(), band.back()};
  const std::size_t buckets = static_cast<std::size_t>(most - 2) / 2;
  std::set<std::size_t> kept = {0, size - 1};
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t begin = size * b / buckets, end = size * (b + 1) / buckets;
    if (begin == end) continue;
    std::size_t low = begin, high = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (band[i].mean < band[low].mean || (std::isnan(band[i].mean) && !std::isnan(band[low].mean))) low = i;
      if (band[i].mean > band[high].mean) high = i;
    }
    kept.insert({low, high});
  }
  std::vector<BandPoint> out;
  for (const std::size_t i : kept) out.push_back(band[i]);
  return out;
}

absl::StatusOr<v1::Curves> get_curves(Store& store, const v1::GetCurvesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const SeriesKey key, key_of(request));
  if (request.max_points() < 0) {
    return make_error(
        absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
        "max_points is negative; give 1 to " + std::to_string(kPointsMost) + ", or 0 for the default",
        "max_points");
  }
  const int asked = request.max_points() == 0 ? kPointsDefault : std::min(request.max_points(), kPointsMost);
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(row.id));
  LOCUS_ASSIGN_OR_RETURN(auto trials, all_trials(store, row.id));
  std::erase_if(trials, [](const TrialView& view) { return view.trial.retired; });
  const int per_trial = points_per_trial(asked, trials.size());
  std::map<std::int64_t, std::vector<std::vector<Point>>> by_cell;
  std::set<SeriesKey> available;
  v1::Curves out;
  out.set_metric(key.metric);
  out.set_split(key.split);
  out.set_labels(key.labels);
  for (const TrialView& trial : trials) {
    LOCUS_ASSIGN_OR_RETURN(const auto stage, stage_with(store, trial, key, &available));
    if (!stage) continue;
    LOCUS_ASSIGN_OR_RETURN(SeriesPoints points, store.points(*stage, key, per_trial));
    if (per_trial > 0 && !points.points.empty()) add_trial(trial.trial, points, &out);
    if (points.reduced) {
      LOCUS_ASSIGN_OR_RETURN(points, store.points(*stage, key, 0));  // a mean needs every common step
    }
    by_cell[trial.trial.cell].push_back(std::move(points.points));
  }
  for (const CellRow& cell : cells) {
    const auto found = by_cell.find(cell.ordinal);
    if (found == by_cell.end()) continue;
    auto* curve = out.add_cells();
    curve->set_cell(static_cast<int>(cell.ordinal));
    curve->set_label(cell.label);
    for (const BandPoint& point : thin(band_of(found->second), asked)) {
      curve->add_step(point.step);
      curve->add_mean(point.mean);
      curve->add_std(point.std);
      curve->add_n(point.n);
    }
  }
  for (const SeriesKey& known : available) to_proto(known, out.add_available());
  return out;
}

}  // namespace locus::server

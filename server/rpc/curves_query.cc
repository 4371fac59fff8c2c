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
#include "server/rpc/training_clock.h"

namespace locus::server {
namespace {

constexpr int kPointsDefault = 400, kPointsMost = 10'000, kPointsLeast = 8;
// What is answered at once: points of all single curves together, and of all means together.
constexpr std::size_t kValuesMost = 30'000, kMeansMost = 8'000;
constexpr int kMeansLeast = 100;  // of a cell, where so many were asked for
constexpr std::size_t kSeriesListed = 1000;

// How many points one trial's curve may have; 0 when there are too many trials for single curves.
int points_per_trial(int asked, std::size_t trials) {
  const std::size_t room = trials == 0 ? kValuesMost : kValuesMost / trials;
  if (room < static_cast<std::size_t>(kPointsLeast)) return 0;
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(asked), room));
}

// What is asked for, checked.
struct Wanted {
  SeriesKey key;
  int points = 0;
  bool interval = false;
  StepRange range;
};

// A trial's curve as it is drawn, and where the rest of it is.
struct Seed {
  StageId stage = 0;
  SeriesPoints drawn;
  TrainingClock clock;
};

absl::Status refuse(std::string sentence, const char* field) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, std::move(sentence),
                    field);
}

void add_trial(const TrialRow& trial, const Seed& seed, v1::Curves* out) {
  auto* curve = out->add_trials();
  curve->set_trial(static_cast<int>(trial.ordinal));
  curve->set_cell(static_cast<int>(trial.cell));
  curve->set_seed(trial.seed);
  curve->set_reduced(seed.drawn.reduced);
  for (const Point& point : seed.drawn.points) {
    curve->add_step(point.step);
    curve->add_value(point.value);
    curve->add_epoch(point.epoch);
    curve->add_images(point.images);
    curve->add_seconds(seed.clock.at(point));
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

absl::StatusOr<Wanted> wanted_of(const v1::GetCurvesRequest& request) {
  if (request.metric().empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kMissingKey,
                      "metric is empty; name one, such as loss with split train", "metric");
  }
  if (request.max_points() < 0) {
    return refuse(
        "max_points is negative; give 1 to " + std::to_string(kPointsMost) + ", or 0 for the default",
        "max_points");
  }
  if (!request.band().empty() && request.band() != "std" && request.band() != "interval")
    return refuse("there is no band '" + request.band() + "'; give std or interval", "band");
  if (request.from_step() < 0) return refuse("from_step is negative; give 0 or more", "from_step");
  if (request.to_step() != 0 && request.to_step() < request.from_step()) {
    return refuse("to_step is " + std::to_string(request.to_step()) + ", before from_step " +
                      std::to_string(request.from_step()) + "; give a later one, or 0 for the end",
                  "to_step");
  }
  LOCUS_ASSIGN_OR_RETURN(std::string labels, canonical_labels(request.labels(), "labels"));
  Wanted out{{request.metric(), request.split(), std::move(labels)},
             kPointsDefault,
             request.band() == "interval",
             {}};
  if (request.max_points() > 0) out.points = std::min(request.max_points(), kPointsMost);
  if (request.from_step() > 0) out.range.first = request.from_step();
  if (request.to_step() > 0) out.range.last = request.to_step();
  return out;
}

// The quantile behind Student-t intervals over n values, from the one place that has it.
double student_t_factor(int n) {
  if (n < 2) return kUndefined;
  std::vector<double> x(static_cast<std::size_t>(n), 0.0);
  x[0] = 1;
  return student_t_half_width(x, 0.95) / sample_std(x);
}

using Seeds = std::vector<Seed>;

// How many means a cell may have.
int means_per_cell(int asked, std::size_t cells) {
  const auto room = static_cast<int>(kMeansMost / std::max<std::size_t>(cells, 1));
  return std::min(asked, std::max(room, kMeansLeast));
}

// The width of blocks with which the longest of the curves is at most `points` of them.
int averaging_shift(const std::map<std::int64_t, Seeds>& cells, int points) {
  std::int64_t span = 1;
  for (const auto& [cell, seeds] : cells) {
    for (const Seed& seed : seeds) {
      if (!seed.drawn.points.empty())
        span = std::max(span, seed.drawn.points.back().step - seed.drawn.points.front().step);
    }
  }
  int shift = 0;
  while ((span >> shift) >= points) ++shift;
  return shift;
}

std::vector<TimedPoint> timed(const Seed& seed, const std::vector<Point>& points) {
  std::vector<TimedPoint> out;
  out.reserve(points.size());
  for (const Point& point : points) out.push_back({point, seed.clock.at(point)});
  return out;
}

// Mean and band over a cell's seeds.
absl::StatusOr<std::vector<BandPoint>> cell_band(Store& store, const Wanted& wanted, const Seeds& seeds,
                                                 std::optional<int> shift) {
  if (shift && seeds.size() > 1) {
    std::vector<std::vector<TimedBlock>> curves;
    for (const Seed& seed : seeds) {
      LOCUS_ASSIGN_OR_RETURN(auto blocks, store.blocks(seed.stage, wanted.key, *shift, wanted.range));
      auto& curve = curves.emplace_back();
      for (SeriesBlock& block : blocks) {
        const double seconds = seed.clock.at(block.last);
        curve.push_back({std::move(block), seconds});
      }
    }
    return band_of_blocks(curves);
  }
  std::vector<std::vector<TimedPoint>> curves;
  for (const Seed& seed : seeds) {
    if (!seed.drawn.reduced || seeds.size() == 1) {
      curves.push_back(timed(seed, seed.drawn.points));
      continue;
    }
    LOCUS_ASSIGN_OR_RETURN(const SeriesPoints all, store.points(seed.stage, wanted.key, 0, wanted.range));
    curves.push_back(timed(seed, all.points));
  }
  return band_of(curves);
}

void add_cell(const CellRow& cell, const std::vector<BandPoint>& band, bool interval, v1::Curves* out) {
  auto* curve = out->add_cells();
  curve->set_cell(static_cast<int>(cell.ordinal));
  curve->set_label(cell.label);
  std::map<int, double> factors;  // by n
  for (const BandPoint& point : band) {
    double half = point.std;
    if (interval) {
      const auto [factor, fresh] = factors.try_emplace(point.n, 0.0);
      if (fresh) factor->second = student_t_factor(point.n);
      half *= factor->second;
    }
    curve->add_step(point.step);
    curve->add_mean(point.mean);
    curve->add_std(point.std);
    curve->add_n(point.n);
    curve->add_low(point.mean - half);
    curve->add_high(point.mean + half);
    curve->add_epoch(point.epoch);
    curve->add_images(point.images);
    curve->add_seconds(point.seconds);
  }
}

}  // namespace

absl::StatusOr<v1::Curves> get_curves(Store& store, const v1::GetCurvesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const Wanted wanted, wanted_of(request));
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(row.id));
  LOCUS_ASSIGN_OR_RETURN(auto trials, all_trials(store, row.id));
  std::erase_if(trials, [](const TrialView& view) { return view.trial.retired; });
  const int per_trial = points_per_trial(wanted.points, trials.size());
  std::map<std::int64_t, Seeds> by_cell;
  std::set<SeriesKey> available;
  std::int64_t stored = 0;  // points that a mean over every step would have to read
  v1::Curves out;
  out.set_metric(wanted.key.metric);
  out.set_split(wanted.key.split);
  out.set_labels(wanted.key.labels);
  for (const TrialView& trial : trials) {
    LOCUS_ASSIGN_OR_RETURN(const auto stage, stage_with(store, trial, wanted.key, &available));
    if (!stage) continue;
    Seed seed{*stage, {}, {}};
    LOCUS_ASSIGN_OR_RETURN(seed.clock, TrainingClock::of(store, *stage, wanted.key));
    LOCUS_ASSIGN_OR_RETURN(seed.drawn, store.points(*stage, wanted.key,
                                                    per_trial > 0 ? per_trial : wanted.points, wanted.range));
    if (seed.drawn.reduced) stored += seed.drawn.series.points;
    if (per_trial > 0 && !seed.drawn.points.empty()) add_trial(trial.trial, seed, &out);
    by_cell[trial.trial.cell].push_back(std::move(seed));
  }
  const int means = means_per_cell(wanted.points, by_cell.size());
  std::optional<int> shift;
  if (stored > kPointsRead) shift = averaging_shift(by_cell, means);
  for (const CellRow& cell : cells) {
    const auto found = by_cell.find(cell.ordinal);
    if (found == by_cell.end()) continue;
    LOCUS_ASSIGN_OR_RETURN(const auto band, cell_band(store, wanted, found->second, shift));
    add_cell(cell, thin(band, means), wanted.interval, &out);
  }
  for (const SeriesKey& known : available) to_proto(known, out.add_available());
  return out;
}

}  // namespace locus::server

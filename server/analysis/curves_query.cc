// Curves of one metric.
#include "server/analysis/curves_query.h"
#include "core/experiment/series_labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>

#include "core/analysis/question.h"
#include "core/analysis/training_clock.h"
#include "core/base/error.h"
#include "core/statistics/samples.h"
#include "server/analysis/system_series.h"
#include "server/runtime/parallel.h"
#include "server/wire/convert.h"

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
  StepRange range;  // the part asked for, with a point beyond each of its edges
  SeriesPoints drawn;
  TrainingClock clock;
};

absl::Status refuse(std::string sentence, const char* field) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, std::move(sentence), field);
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

// A trial with the first of its stages that has the curve.
struct Source {
  TrialRow trial;
  StageId stage = 0;
};

// The same for what machines did, which is stored apart from points.
absl::Status find_system(Store& store, const StageBriefs& briefs, const SeriesKey& key,
                         std::unordered_set<StageId>* having, std::set<SeriesKey>* available) {
  for (const StageBrief& brief : briefs.stages) {
    LOCUS_ASSIGN_OR_RETURN(const auto keys, system_series(store, brief.stage));
    for (const SeriesKey& one : keys) {
      available->insert(one);
      if (one == key) having->insert(brief.stage);
    }
  }
  return absl::OkStatus();
}

// By trial. `available`: every key that any stage of the experiment has.
absl::StatusOr<std::vector<Source>> sources_of(Store& store, ExperimentId experiment, const SeriesKey& key,
                                               std::size_t* trials, std::set<SeriesKey>* available) {
  LOCUS_ASSIGN_OR_RETURN(const auto all, store.series_of(experiment));
  std::unordered_set<StageId> having;
  for (const SeriesRow& row : all) {
    if (available->size() < kSeriesListed) available->insert(row.key);
    if (row.key == key) having.insert(row.stage_id);
  }
  LOCUS_ASSIGN_OR_RETURN(const StageBriefs briefs, store.briefs(experiment));
  if (is_system_metric(key.metric)) LOCUS_RETURN_IF_ERROR(find_system(store, briefs, key, &having, available));
  std::vector<Source> out;
  std::int64_t before = -1;
  *trials = 0;
  for (const StageBrief& brief : briefs.stages) {
    if (brief.trial != before) ++*trials;
    before = brief.trial;
    const bool known = !out.empty() && out.back().trial.ordinal == brief.trial;
    if (!known && having.contains(brief.stage))
      out.push_back({{brief.trial, brief.cell, brief.seed, /*retired=*/false}, brief.stage});
  }
  return out;
}

// The part asked for and, where there are any, the nearest point on either side of it: a line drawn over the
// part then reaches its edges.
absl::StatusOr<StepRange> widened(Store& store, StageId stage, const Wanted& wanted) {
  constexpr int kEnds = 1;  // the first and the last are among as few points as a store gives
  StepRange out = wanted.range;
  if (wanted.range.first > StepRange().first) {
    LOCUS_ASSIGN_OR_RETURN(const SeriesPoints before,
                           store.points(stage, wanted.key, kEnds, {StepRange().first, wanted.range.first - 1}));
    if (!before.points.empty()) out.first = before.points.back().step;
  }
  if (wanted.range.last < StepRange().last) {
    LOCUS_ASSIGN_OR_RETURN(const SeriesPoints after,
                           store.points(stage, wanted.key, kEnds, {wanted.range.last + 1, StepRange().last}));
    if (!after.points.empty()) out.last = after.points.front().step;
  }
  return out;
}

// Every curve by itself, a few at a time on threads of their own: most of it is decoding.
absl::StatusOr<std::vector<Seed>> read_seeds(Store& store, const Wanted& wanted, int points,
                                             const std::vector<Source>& sources) {
  std::vector<Seed> out(sources.size());
  const auto read = [&](std::size_t i) -> absl::Status {
    out[i].stage = sources[i].stage;
    if (is_system_metric(wanted.key.metric)) {
      LOCUS_ASSIGN_OR_RETURN(out[i].drawn, system_points(store, sources[i].stage, wanted.key, points, wanted.range));
      if (!out[i].drawn.points.empty()) out[i].clock = TrainingClock::since(out[i].drawn.points.front());
      return absl::OkStatus();
    }
    LOCUS_ASSIGN_OR_RETURN(out[i].clock, TrainingClock::of(store, sources[i].stage, wanted.key));
    LOCUS_ASSIGN_OR_RETURN(out[i].range, widened(store, sources[i].stage, wanted));
    LOCUS_ASSIGN_OR_RETURN(out[i].drawn, store.points(sources[i].stage, wanted.key, points, out[i].range));
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(for_each_in_parallel(sources.size(), read));
  return out;
}

absl::StatusOr<Wanted> wanted_of(const v1::GetCurvesRequest& request) {
  if (request.metric().empty()) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kMissingKey,
                      "metric is empty; name one, such as loss with split train", "metric");
  }
  if (request.max_points() < 0) {
    return refuse("max_points is negative; give 1 to " + std::to_string(kPointsMost) + ", or 0 for the default",
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
  Wanted out{{request.metric(), request.split(), std::move(labels)}, kPointsDefault, request.band() == "interval", {}};
  if (request.max_points() > 0) out.points = std::min(request.max_points(), kPointsMost);
  if (request.from_step() > 0) out.range.first = request.from_step();
  if (request.to_step() > 0) out.range.last = request.to_step();
  return out;
}

// No curve has this name: a slip, unless one of that name may come.
absl::Status check_known(Store& store, ExperimentId experiment, const Outline& outline,
                         const std::set<SeriesKey>& available, const SeriesKey& key) {
  KnownNames known;
  known.add(outline);
  for (const SeriesKey& one : available) known.add(one);
  LOCUS_ASSIGN_OR_RETURN(const ResultsByStage results, all_results(store, experiment));
  known.add(results);
  LOCUS_RETURN_IF_ERROR(known.check_metric(key.metric));
  LOCUS_RETURN_IF_ERROR(known.check_split(key.metric, key.split));
  return known.check_labels(key);
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
      LOCUS_ASSIGN_OR_RETURN(auto blocks, store.blocks(seed.stage, wanted.key, *shift, seed.range));
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
    if (!seed.drawn.reduced || seeds.size() == 1 || is_system_metric(wanted.key.metric)) {
      curves.push_back(timed(seed, seed.drawn.points));
      continue;
    }
    LOCUS_ASSIGN_OR_RETURN(const SeriesPoints all, store.points(seed.stage, wanted.key, 0, seed.range));
    curves.push_back(timed(seed, all.points));
  }
  return band_of(curves);
}

void add_cell(const CellRow& cell, const std::string& label, const std::vector<BandPoint>& band, bool interval,
              v1::Curves* out) {
  auto* curve = out->add_cells();
  curve->set_cell(static_cast<int>(cell.ordinal));
  curve->set_label(label);
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

absl::StatusOr<v1::Curves> get_curves(Store& store, const Outline& outline, const v1::GetCurvesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const Wanted wanted, wanted_of(request));
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(row.id));
  std::set<SeriesKey> available;
  std::size_t trials = 0;
  LOCUS_ASSIGN_OR_RETURN(const auto sources, sources_of(store, row.id, wanted.key, &trials, &available));
  if (sources.empty()) LOCUS_RETURN_IF_ERROR(check_known(store, row.id, outline, available, wanted.key));
  const int per_trial = points_per_trial(wanted.points, trials);
  LOCUS_ASSIGN_OR_RETURN(auto seeds, read_seeds(store, wanted, per_trial > 0 ? per_trial : wanted.points, sources));
  std::map<std::int64_t, Seeds> by_cell;
  std::int64_t stored = 0;  // points that a mean over every step would have to read
  v1::Curves out;
  out.set_metric(wanted.key.metric);
  out.set_split(wanted.key.split);
  out.set_labels(wanted.key.labels);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    Seed& seed = seeds[i];
    if (seed.drawn.reduced) stored += seed.drawn.series.points;
    if (per_trial > 0 && !seed.drawn.points.empty() && !request.means_only()) add_trial(sources[i].trial, seed, &out);
    by_cell[sources[i].trial.cell].push_back(std::move(seed));
  }
  const int means = means_per_cell(wanted.points, by_cell.size());
  std::optional<int> shift;
  if (stored > kPointsRead) shift = averaging_shift(by_cell, means);
  std::vector<std::vector<BandPoint>> bands(cells.size());
  const auto read = [&](std::size_t i) -> absl::Status {
    const auto found = by_cell.find(cells[i].ordinal);
    if (found == by_cell.end()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(const auto band, cell_band(store, wanted, found->second, shift));
    bands[i] = thin(band, means);
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(for_each_in_parallel(cells.size(), read));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (by_cell.contains(cells[i].ordinal))
      add_cell(cells[i], label_of(outline, cells[i]), bands[i], wanted.interval, &out);
  }
  for (const SeriesKey& known : available) to_proto(known, out.add_available());
  return out;
}

}  // namespace locus::server

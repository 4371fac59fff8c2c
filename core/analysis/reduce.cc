// Reduces series to numbers.
#include "core/analysis/reduce.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/statistics/samples.h"

namespace locus {
namespace {

constexpr char kTrain[] = "train", kTest[] = "test", kLast[] = "last";
constexpr char kNoLabels[] = "{}", kPart[] = "images";

// The steps of the best values, best first; of equal ones the earlier.
std::vector<std::int64_t> best_steps(std::vector<Point> points, std::size_t count, bool maximize) {
  std::erase_if(points, [](const Point& point) { return !std::isfinite(point.value); });
  std::stable_sort(points.begin(), points.end(), [maximize](const Point& a, const Point& b) {
    return maximize ? a.value > b.value : a.value < b.value;
  });
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < std::min(count, points.size()); ++i) out.push_back(points[i].step);
  return out;
}

// The newest point at or before a step.
const Point* at_step(const std::vector<Point>& points, std::int64_t step) {
  const auto after = std::upper_bound(points.begin(), points.end(), step,
                                      [](std::int64_t s, const Point& point) { return s < point.step; });
  return after == points.begin() ? nullptr : &*std::prev(after);
}

std::string word(const Reduction& reduction) {
  switch (reduction.kind) {
    case Reduction::Kind::kBest:
      return "best";
    case Reduction::Kind::kTop:
      return "top-" + std::to_string(reduction.count);
    case Reduction::Kind::kMean:
      return "mean";
    case Reduction::Kind::kAtStep:
      return "at-step-" + std::to_string(reduction.step);
    case Reduction::Kind::kLast:
      break;
  }
  return "last";
}

}  // namespace

std::string default_reduce(const MetricContract& contract, const std::string& metric, const std::string& split) {
  if (split == kTest) return contract.reports == kTest ? contract.reduce : kLast;
  return metric == contract.name ? contract.reduce : kLast;
}

std::optional<Result> reduce_points(const Reduction& reduction, const SeriesKey& key,
                                    const std::vector<Point>& reported, const std::vector<Point>& selecting,
                                    bool maximize) {
  using Kind = Reduction::Kind;
  if (reduction.kind == Kind::kLast || reported.empty()) return std::nullopt;
  Result out{key, word(reduction), kUndefined, 0};
  if (reduction.kind == Kind::kMean) {
    std::vector<double> values;
    for (const Point& point : reported) values.push_back(point.value);
    out.value = sample_mean(values);
    out.step = reported.back().step;
    return out;
  }
  std::vector<std::int64_t> steps = {reduction.step};
  if (reduction.kind != Kind::kAtStep)
    steps =
        best_steps(selecting, reduction.kind == Kind::kTop ? static_cast<std::size_t>(reduction.count) : 1, maximize);
  if (reduction.kind == Kind::kTop && std::ssize(steps) < reduction.count) return std::nullopt;  // fewer than asked for
  if (reduction.kind == Kind::kAtStep && reported.back().step < reduction.step) return std::nullopt;  // not got so far
  std::vector<double> values;
  for (const std::int64_t step : steps) {
    const Point* point = at_step(reported, step);
    if (point == nullptr) return std::nullopt;
    values.push_back(point->value);
  }
  if (values.empty()) return std::nullopt;
  out.value = sample_mean(values);
  out.step = steps.front();
  return out;
}

namespace {

// The points a curve is read from. Validations during training that used a part of the split stand under a
// label of their own, and only the last one under none.
absl::StatusOr<std::vector<Point>> curve(Store& store, StageId stage, const SeriesKey& key) {
  SeriesKey chosen = key;
  if (key.labels == kNoLabels) {
    LOCUS_ASSIGN_OR_RETURN(const auto series, store.series(stage));
    std::int64_t most = 0;
    for (const SeriesRow& row : series) {
      if (row.key.metric != key.metric || row.key.split != key.split) continue;
      const Json labels = Json::parse(row.key.labels, nullptr, /*allow_exceptions=*/false);
      const bool whole = row.key.labels == key.labels, part = labels.size() == 1 && labels.contains(kPart);
      if ((!whole && !part) || row.points < most || (row.points == most && !whole)) continue;
      most = row.points;
      chosen = row.key;
    }
  }
  auto found = store.points(stage, chosen, 0);
  if (absl::IsNotFound(found.status())) return std::vector<Point>();  // never reported
  if (!found.ok()) return found.status();
  return std::move(found->points);
}

}  // namespace

absl::Status add_reduced(Store& store, const StageBriefs& briefs, const Reduction& reduction, const SeriesKey& key,
                         const std::string& selects_on, bool maximize, std::vector<ResultView>& results) {
  if (reduction.kind == Reduction::Kind::kLast || key.split == kTest) return absl::OkStatus();
  const std::string reducer = word(reduction);
  std::erase_if(results, [&](const ResultView& one) { return one.result.key == key && one.result.reducer == reducer; });
  std::set<StageId> seen;
  for (const StageBrief& brief : briefs.stages) {
    if (brief.kind != kTrain || brief.state != StageState::kSucceeded || !seen.insert(brief.stage).second) continue;
    LOCUS_ASSIGN_OR_RETURN(const auto reported, curve(store, brief.stage, key));
    if (reported.empty()) continue;
    std::vector<Point> selecting;
    if (key.split != selects_on) {
      LOCUS_ASSIGN_OR_RETURN(selecting, curve(store, brief.stage, {key.metric, selects_on, key.labels}));
    }
    const auto& chosen_on = key.split == selects_on ? reported : selecting;
    if (const auto result = reduce_points(reduction, key, reported, chosen_on, maximize))
      results.push_back({brief.stage, *result});
  }
  std::sort(results.begin(), results.end(), [](const ResultView& a, const ResultView& b) {
    return std::tie(a.stage_id, a.result.key, a.result.reducer) < std::tie(b.stage_id, b.result.key, b.result.reducer);
  });
  return absl::OkStatus();
}

absl::Status add_contract_results(Store& store, const StageBriefs& briefs, const MetricContract& contract,
                                  ResultsByStage& results) {
  for (const std::string& split : std::set<std::string>{contract.reports, contract.selects_on}) {
    LOCUS_ASSIGN_OR_RETURN(const Reduction reduction,
                           parse_reduction(contract.reduce, contract.reports, "metric.reduce"));
    std::vector<ResultView> reduced;
    LOCUS_RETURN_IF_ERROR(add_reduced(store, briefs, reduction, {contract.name, split, kNoLabels}, contract.selects_on,
                                      contract.direction != "min", reduced));
    for (ResultView& one : reduced) results[one.stage_id].push_back(std::move(one.result));
  }
  return absl::OkStatus();
}

}  // namespace locus

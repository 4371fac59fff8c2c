// Reduces series to numbers.
#include "server/rpc/reduce.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/statistics/table.h"

namespace locus::server {
namespace {

constexpr char kTrain[] = "train";

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
      return "top-" + std::to_string(reduction.number);
    case Reduction::Kind::kMean:
      return "mean";
    case Reduction::Kind::kAtStep:
      return "at-step-" + std::to_string(reduction.number);
    case Reduction::Kind::kLast:
      break;
  }
  return "last";
}

}  // namespace

std::string default_reduce(const MetricContract& contract, const std::string& metric) {
  return metric == contract.name ? contract.reduce : "last";
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
  std::vector<std::int64_t> steps = {reduction.number};
  if (reduction.kind != Kind::kAtStep)
    steps = best_steps(
        selecting, reduction.kind == Kind::kTop ? static_cast<std::size_t>(reduction.number) : 1, maximize);
  if (reduction.kind == Kind::kTop && std::ssize(steps) < reduction.number)
    return std::nullopt;  // fewer than asked for
  if (reduction.kind == Kind::kAtStep && reported.back().step < reduction.number)
    return std::nullopt;  // not got so far
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

absl::Status add_reduced(Store& store, const StageBriefs& briefs, const Reduction& reduction,
                         const SeriesKey& key, const std::string& selects_on, bool maximize,
                         std::vector<ResultView>& results) {
  if (reduction.kind == Reduction::Kind::kLast) return absl::OkStatus();
  const std::string reducer = word(reduction);
  std::erase_if(
      results, [&](const ResultView& one) { return one.result.key == key && one.result.reducer == reducer; });
  std::set<StageId> seen;
  for (const StageBrief& brief : briefs.stages) {
    if (brief.kind != kTrain || brief.state != StageState::kSucceeded || !seen.insert(brief.stage).second)
      continue;
    auto reported = store.points(brief.stage, key, 0);
    if (absl::IsNotFound(reported.status())) continue;  // never reported
    if (!reported.ok()) return reported.status();
    std::vector<Point> selecting;
    if (key.split != selects_on) {
      auto found = store.points(brief.stage, {key.metric, selects_on, key.labels}, 0);
      if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
      if (found.ok()) selecting = std::move(found->points);
    }
    const auto& chosen_on = key.split == selects_on ? reported->points : selecting;
    if (const auto result = reduce_points(reduction, key, reported->points, chosen_on, maximize))
      results.push_back({brief.stage, *result});
  }
  std::sort(results.begin(), results.end(), [](const ResultView& a, const ResultView& b) {
    return std::tie(a.stage_id, a.result.key, a.result.reducer) <
           std::tie(b.stage_id, b.result.key, b.result.reducer);
  });
  return absl::OkStatus();
}

}  // namespace locus::server

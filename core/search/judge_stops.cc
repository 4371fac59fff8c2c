// Rules that abandon a unit between rungs, asked about units whose curves have grown.
#include <algorithm>
#include <cmath>

#include "core/search/judge_rules.h"
#include "core/search/stopping.h"

namespace locus {
namespace {

std::string epoch_of(const PhaseCourse& phase, std::int64_t unit, std::int64_t step) {
  const double steps = phase.steps_per_epoch(unit);
  return steps > 0 ? "epoch " + shown(static_cast<double>(step) / steps) : "step " + std::to_string(step);
}

std::optional<std::string> why(const PhaseCourse& phase, std::int64_t unit, const Curve& curve, MedianRule rule) {
  rule.from = std::llround(static_cast<double>(rule.from) * phase.steps_per_epoch(unit));
  const std::int64_t step = curve.rbegin()->first;
  const std::int64_t group = phase.setup->units[static_cast<std::size_t>(unit)].group;
  const std::int64_t finished = phase.standings.finished(group);
  const auto bound = phase.standings.percentile(group, phase.steps_per_epoch(unit), step, rule.percentile);
  if (!stops(rule, curve, step, finished, bound)) return std::nullopt;
  const auto best = std::max_element(curve.begin(), curve.end(), [](const auto& a, const auto& b) {
    return std::isnan(a.second) || a.second < b.second;
  });
  return "median: its best up to " + epoch_of(phase, unit, step) + ", " + shown(phase.turned(best->second)) +
         ", is worse than " + shown(phase.turned(bound.value_or(0))) + ", the percentile " + shown(rule.percentile) +
         " of " + counted(finished, "finished unit") + " there";
}

// The first validations that it holds for, so that it does not matter how many came at once.
std::optional<std::string> why(const PhaseCourse& phase, std::int64_t unit, const Curve& curve,
                               const PatienceRule& rule) {
  std::vector<double> best;  // up to each
  double most = -std::numeric_limits<double>::infinity();
  for (const auto& [step, value] : curve) {
    if (!std::isnan(value)) most = std::max(most, value);
    best.push_back(most);
    const auto count = static_cast<std::int64_t>(best.size());
    if (count <= rule.validations) continue;
    const double before = best[static_cast<std::size_t>(count - 1 - rule.validations)];
    if (most > before + rule.least) continue;
    return "patience: up to " + epoch_of(phase, unit, step) + ", " + counted(rule.validations, "validation") +
           " brought nothing better than " + shown(phase.turned(before)) +
           (rule.least > 0 ? " by more than " + shown(rule.least) : "");
  }
  return std::nullopt;
}

// Bounds are of the metric as it is, and so is this curve.
std::optional<std::string> why(const PhaseCourse& phase, std::int64_t unit, const Curve& curve, ThresholdRule rule,
                               const std::string& metric) {
  rule.at = std::llround(static_cast<double>(rule.at) * phase.steps_per_epoch(unit));
  if (!stops(rule, curve)) return std::nullopt;
  const auto [step, value] = *curve.lower_bound(rule.at);
  return "threshold: " + metric + " " + shown(value) + " at " + epoch_of(phase, unit, step) + " is " +
         (std::isnan(value) ? "no number"
          : rule.above      ? "above " + shown(*rule.above)
                            : "below " + shown(*rule.below));
}

Curve curve_of(const PhaseCourse& phase, std::int64_t unit, const std::string& metric, bool turned) {
  Curve out;
  if (metric.empty() || metric == phase.setup->metric) {
    out = phase.units[static_cast<std::size_t>(unit)].curve;
    if (!turned) {
      for (auto& [step, value] : out) value = phase.turned(value);
    }
    return out;
  }
  const OtherCurves* others = phase.other_curves.find(unit);
  if (others == nullptr) return out;
  const auto found = others->find(metric);
  return found == others->end() ? out : found->second;
}

std::optional<RuleAnswer> of_unit(const PhaseCourse& phase, std::int64_t unit) {
  const UnitCourse& course = phase.units[static_cast<std::size_t>(unit)];
  for (const StopRule& stop : phase.setup->search.stops) {
    const auto* threshold = std::get_if<ThresholdRule>(&stop.rule);
    const Curve curve = curve_of(phase, unit, stop.metric, threshold == nullptr);
    if (curve.empty()) continue;
    std::optional<std::string> reason;
    std::string name = "threshold";
    if (const auto* median = std::get_if<MedianRule>(&stop.rule)) {
      reason = why(phase, unit, curve, *median), name = "median";
    } else if (const auto* patience = std::get_if<PatienceRule>(&stop.rule)) {
      reason = why(phase, unit, curve, *patience), name = "patience";
    } else {
      reason = why(phase, unit, curve, *threshold, stop.metric.empty() ? phase.setup->metric : stop.metric);
    }
    if (reason) return RuleAnswer{StopDecision{{unit}, course.rung, curve.rbegin()->first, false, *reason}, name, 1};
  }
  return std::nullopt;
}

}  // namespace

bool stops_between(const PhaseCourse& phase, std::int64_t unit) { return of_unit(phase, unit).has_value(); }

std::optional<RuleAnswer> stopped_between(const PhaseCourse& phase) {
  return phase.stopping.empty() ? std::nullopt : of_unit(phase, *phase.stopping.begin());
}

}  // namespace locus

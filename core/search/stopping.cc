// Rules that abandon a unit between rungs.
#include "core/search/stopping.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus {
namespace {

// Linear interpolation between ranks; `sorted` is not empty.
double percentile_of(const std::vector<double>& sorted, double percentile) {
  const double at = percentile / 100 * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const double part = at - static_cast<double>(low);
  return low + 1 < sorted.size() ? sorted[low] + part * (sorted[low + 1] - sorted[low]) : sorted[low];
}

}  // namespace

std::optional<double> percentile_at(const MedianRule& rule, std::int64_t step, const std::vector<Curve>& finished) {
  std::vector<double> others;
  for (const Curve& curve : finished) {
    const auto found = curve.find(step);
    if (found != curve.end() && !std::isnan(found->second)) others.push_back(found->second);
  }
  if (others.empty()) return std::nullopt;
  std::sort(others.begin(), others.end());
  return percentile_of(others, rule.percentile);
}

bool stops(const MedianRule& rule, const Curve& unit, std::int64_t step, const std::vector<Curve>& finished) {
  if (step < rule.from || static_cast<std::int64_t>(finished.size()) < rule.after) return false;
  const std::optional<double> bound = percentile_at(rule, step, finished);
  if (!bound) return false;
  double best = -std::numeric_limits<double>::infinity();
  bool any = false;
  for (const auto& [at, value] : unit) {
    if (at > step || std::isnan(value)) continue;
    best = std::max(best, value);
    any = true;
  }
  return !any || best < *bound;
}

bool stops(const PatienceRule& rule, const Curve& unit) {
  if (static_cast<std::int64_t>(unit.size()) <= rule.validations) return false;
  const auto split = std::prev(unit.end(), rule.validations);
  const auto best = [](auto from, auto to) {
    double most = -std::numeric_limits<double>::infinity();
    for (; from != to; ++from) {
      if (!std::isnan(from->second)) most = std::max(most, from->second);
    }
    return most;
  };
  return !(best(split, unit.end()) > best(unit.begin(), split) + rule.least);
}

bool stops(const ThresholdRule& rule, const Curve& unit) {
  const auto found = unit.lower_bound(rule.at);
  if (found == unit.end()) return false;
  if (std::isnan(found->second)) return true;
  return (rule.above && found->second > *rule.above) || (rule.below && found->second < *rule.below);
}

}  // namespace locus

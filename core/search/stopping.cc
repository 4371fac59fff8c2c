// Rules that abandon a unit between rungs.
#include "core/search/stopping.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus {
bool stops(const MedianRule& rule, const Curve& unit, std::int64_t step, std::int64_t finished,
           std::optional<double> bound) {
  if (step < rule.from || finished < rule.after || !bound) return false;
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

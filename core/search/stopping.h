// Rules that abandon a unit between rungs. They judge values of the split that selects, larger being better. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace locus {

using Curve = std::map<std::int64_t, double>;  // step -> value

// Median stopping (Golovin et al. 2017, KDD, section 3.2.2; here with any percentile): from step `from` on, and once `after`
// others have finished, a unit is stopped whose best value so far is worse than the percentile of the finished ones' values
// at exactly this step; those that have none there do not count.
struct MedianRule {
  std::int64_t after = 5, from = 0;
  double percentile = 50;  // linear interpolation between ranks
};
// `finished`: how many have; `bound`: that percentile of theirs, nothing where none has a value there.
bool stops(const MedianRule& rule, const Curve& unit, std::int64_t step, std::int64_t finished,
           std::optional<double> bound);
// Of `count` values, at least one, of which at(i) is the i-th from the least on.
template <class At>
double percentile_of(std::size_t count, double percentile, const At& at) {
  const double place = percentile / 100 * static_cast<double>(count - 1);
  const auto low = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(low);
  return low + 1 < count ? at(low) + part * (at(low + 1) - at(low)) : at(low);
}

// No value among the last `validations` is better by more than `least` than the best one before them.
struct PatienceRule {
  std::int64_t validations = 3;
  double least = 0;
};
bool stops(const PatienceRule& rule, const Curve& unit);

// At `at` or the first step after it the value is beyond a bound.
struct ThresholdRule {
  std::optional<double> above, below;
  std::int64_t at = 0;
};
bool stops(const ThresholdRule& rule, const Curve& unit);

}  // namespace locus

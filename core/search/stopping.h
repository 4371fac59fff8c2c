// Rules that abandon a unit between rungs. They judge values of the split that selects, larger being better. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace locus {

using Curve = std::map<std::int64_t, double>;  // step -> value

// Median stopping (Golovin et al. 2017, KDD, section 3.2.2; here with any percentile): from step `from` on, and once `after`
// others have finished, a unit is stopped whose best value so far is worse than the percentile of the finished ones' values
// at exactly this step; those that have none there do not count.
struct MedianRule {
  std::int64_t after = 5, from = 0;
  double percentile = 50;  // linear interpolation between ranks
};
bool stops(const MedianRule& rule, const Curve& unit, std::int64_t step, const std::vector<Curve>& finished);
// What it is compared with; nothing where no finished one has a value there.
std::optional<double> percentile_at(const MedianRule& rule, std::int64_t step, const std::vector<Curve>& finished);

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

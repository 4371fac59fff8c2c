// Estimates beyond one sample's mean: unpaired tests, power, robust means over several strata. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace locus {

// Welch's test of equal means, for samples whose variances may differ; all NaN below two values a side. p is
// NaN where neither side has any spread.
// B. L. Welch, Biometrika 34 (1947); degrees of freedom after Satterthwaite.
struct Welch {
  double difference, low, high;  // mean of x minus mean of y, and its interval
  double degrees, p;             // two-sided
};
Welch welch(const std::vector<double>& x, const std::vector<double>& y, double level);

// Power of the two-sided paired t test with `pairs` pairs whose differences have mean `effect` and deviation
// `std`: P(|T| > t(1 - alpha / 2)) for a noncentral T with pairs - 1 degrees of freedom, noncentrality effect
// / std sqrt(pairs). J. Cohen, Statistical Power Analysis (1988), 2.2. NaN below two pairs or without spread.
double paired_t_power(double effect, double std, int pairs, double alpha);
// The fewest pairs that have at least `power`; 2 without spread; 0 when unknown or more than kPairsMost.
inline constexpr int kPairsMost = 100'000;
int pairs_needed(double effect, double std, double alpha, double power);

// The mean of what is left when a quarter (rounded down) of the values is cut from each end; NaN without
// values or with one that is not finite.
double interquartile_mean(std::vector<double> x);

// Percentile interval of the interquartile mean of all values, resampled within each stratum (a column's
// seeds), as in R. Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice
// (2021). Deterministic: draw (replicate, stratum, index) is a hash of these numbers, so equal strata sizes
// meet equal draws. NaN when no stratum has two values or a value is not finite.
struct Interval {
  double low, high;
};
inline constexpr int kReplicates = 1000;
Interval bootstrap_iqm(const std::vector<std::vector<double>>& strata, double level);
// The draw itself: below `bound`, which is at least 1. SplitMix64's finalizer (G. Steele et al., 2014) over a
// counter.
std::uint32_t bootstrap_draw(std::uint32_t replicate, std::uint32_t stratum, std::uint32_t index, std::uint32_t bound);

// Ranks from 1, best first; equal values share the mean of their ranks, NaN gets NaN.
std::vector<double> ranks(const std::vector<double>& x, bool maximize);

}  // namespace locus

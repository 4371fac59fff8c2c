// Welch's test, power, interquartile means and their bootstrap.
#include "core/statistics/estimates.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/base/splitmix.h"
#include "core/statistics/samples.h"

namespace locus {
namespace {

bool all_finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

// The order statistic a percentile interval ends at, linear between neighbors (R's type 7, NumPy's default).
double quantile_of_sorted(const std::vector<double>& x, double at) {
  const double place = at * static_cast<double>(x.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, x.size() - 1);
  return x[below] + (place - static_cast<double>(below)) * (x[above] - x[below]);
}

// The interquartile mean of a sample given as how often each of the sorted values occurs.
double iqm_of_counts(const std::vector<double>& sorted, const std::vector<std::uint32_t>& counts) {
  const std::size_t n = sorted.size(), cut = n / 4;
  std::size_t seen = 0;
  double sum = 0;
  for (std::size_t i = 0; i < n && seen < n - cut; ++i) {
    const std::size_t from = std::max(seen, cut), to = std::min(seen + counts[i], n - cut);
    if (to > from) sum += static_cast<double>(to - from) * sorted[i];
    seen += counts[i];
  }
  return sum / static_cast<double>(n - 2 * cut);
}

}  // namespace

Welch welch(const std::vector<double>& x, const std::vector<double>& y, double level) {
  Welch out{kUndefined, kUndefined, kUndefined, kUndefined, kUndefined};
  out.difference = sample_mean(x) - sample_mean(y);
  const double sx = sample_std(x), sy = sample_std(y);
  if (!std::isfinite(out.difference) || !std::isfinite(sx) || !std::isfinite(sy)) return out;
  const auto nx = static_cast<double>(x.size()), ny = static_cast<double>(y.size());
  const double a = sx * sx / nx, b = sy * sy / ny, error = std::sqrt(a + b);
  if (error == 0) {
    out.low = out.high = out.difference;  // and p stays undefined: t is 0/0 or infinite
    return out;
  }
  out.degrees = (a + b) * (a + b) / (a * a / (nx - 1) + b * b / (ny - 1));
  const boost::math::students_t t(out.degrees);
  const double half = boost::math::quantile(t, 0.5 + level / 2) * error;
  out.low = out.difference - half;
  out.high = out.difference + half;
  out.p = 2 * boost::math::cdf(boost::math::complement(t, std::abs(out.difference) / error));
  return out;
}

double paired_t_power(double effect, double std, int pairs, double alpha) {
  if (pairs < 2 || !std::isfinite(effect) || !std::isfinite(std) || std <= 0) return kUndefined;
  const double degrees = pairs - 1;
  const double critical = boost::math::quantile(boost::math::students_t(degrees), 1 - alpha / 2);
  const double shift = std::abs(effect) / std * std::sqrt(static_cast<double>(pairs));
  if (shift > 37) return 1;  // beyond what a double tells from certainty, and slow to sum
  if (shift == 0) return alpha;
  const boost::math::non_central_t t(degrees, shift);
  return boost::math::cdf(boost::math::complement(t, critical)) + boost::math::cdf(t, -critical);
}

int pairs_needed(double effect, double std, double alpha, double power) {
  if (!(std::abs(effect) > 0) || !std::isfinite(effect) || !std::isfinite(std) || std < 0) return 0;
  if (std == 0) return 2;
  // The normal approximation lies at most a few pairs below; the exact power decides.
  const boost::math::normal normal;
  const double z = boost::math::quantile(normal, 1 - alpha / 2) + boost::math::quantile(normal, power);
  const double guess = std::ceil(std::pow(z * std / effect, 2));
  if (guess > kPairsMost) return 0;
  int pairs = std::max(2, static_cast<int>(guess));
  while (pairs > 2 && paired_t_power(effect, std, pairs - 1, alpha) >= power) --pairs;
  while (pairs <= kPairsMost && paired_t_power(effect, std, pairs, alpha) < power) ++pairs;
  return pairs <= kPairsMost ? pairs : 0;
}

double interquartile_mean(std::vector<double> x) {
  if (x.empty() || !all_finite(x)) return kUndefined;
  std::sort(x.begin(), x.end());
  return iqm_of_counts(x, std::vector<std::uint32_t>(x.size(), 1));
}

std::uint32_t bootstrap_draw(std::uint32_t replicate, std::uint32_t stratum, std::uint32_t index, std::uint32_t bound) {
  const std::uint64_t counter = (std::uint64_t{replicate} << 40) ^ (std::uint64_t{stratum} << 20) ^ index;
  const std::uint64_t bits = splitmix64(counter * kGolden) >> 32;
  return static_cast<std::uint32_t>(bits * bound >> 32);
}

Interval bootstrap_iqm(const std::vector<std::vector<double>>& strata, double level) {
  std::vector<std::pair<double, std::size_t>> order;  // value, place among all
  bool spread = false;
  for (const auto& stratum : strata) {
    if (!all_finite(stratum)) return {kUndefined, kUndefined};
    spread |= stratum.size() > 1;
    for (const double value : stratum) order.emplace_back(value, order.size());
  }
  if (!spread) return {kUndefined, kUndefined};
  std::sort(order.begin(), order.end());
  std::vector<double> sorted(order.size());
  std::vector<std::size_t> place(order.size());  // of each value among the sorted ones
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = order[i].first;
    place[order[i].second] = i;
  }
  std::vector<double> means(kReplicates);
  std::vector<std::uint32_t> counts(order.size());
  for (int replicate = 0; replicate < kReplicates; ++replicate) {
    std::fill(counts.begin(), counts.end(), 0);
    std::size_t first = 0;
    for (std::size_t s = 0; s < strata.size(); ++s) {
      const auto n = static_cast<std::uint32_t>(strata[s].size());
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t drawn =
            bootstrap_draw(static_cast<std::uint32_t>(replicate), static_cast<std::uint32_t>(s), i, n);
        ++counts[place[first + drawn]];
      }
      first += n;
    }
    means[static_cast<std::size_t>(replicate)] = iqm_of_counts(sorted, counts);
  }
  std::sort(means.begin(), means.end());
  return {quantile_of_sorted(means, 0.5 - level / 2), quantile_of_sorted(means, 0.5 + level / 2)};
}

std::vector<double> ranks(const std::vector<double>& x, bool maximize) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return maximize ? x[a] > x[b] : x[a] < x[b]; });
  std::vector<double> out(x.size(), kUndefined);
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && x[order[end]] == x[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) out[order[k]] = (static_cast<double>(i + end - 1) / 2) + 1;
    i = end;
  }
  return out;
}

}  // namespace locus

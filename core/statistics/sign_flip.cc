// The exact sign-flip test: every one of the 2^n sign assignments is counted, none is sampled.
#include <algorithm>
#include <cmath>

#include "core/statistics/samples.h"

namespace locus {
namespace {

// Every signed sum of x[begin, end), sorted.
std::vector<double> signed_sums(const std::vector<double>& x, std::size_t begin, std::size_t end) {
  std::vector<double> sums = {0.0};
  for (std::size_t i = begin; i < end; ++i) {
    // Adding and taking away keeps two sorted halves; merging them costs less than sorting in the end.
    std::vector<double> next(2 * sums.size());
    const double size = std::abs(x[i]);
    const auto half = next.begin() + static_cast<std::ptrdiff_t>(sums.size());
    std::transform(sums.begin(), sums.end(), next.begin(), [size](double sum) { return sum - size; });
    std::transform(sums.begin(), sums.end(), half, [size](double sum) { return sum + size; });
    std::inplace_merge(next.begin(), half, next.end());
    sums = std::move(next);
  }
  return sums;
}

}  // namespace

double sign_flip_p(const std::vector<double>& differences) {
  constexpr std::size_t kMostPairs = 40;  // 2^20 sums a half
  const std::size_t n = differences.size();
  if (n == 0 || n > kMostPairs) return kUndefined;
  double observed = 0, size = 0;
  for (const double d : differences) {
    if (!std::isfinite(d)) return kUndefined;
    observed += d;
    size += std::abs(d);
  }
  // Sums that are equal on paper differ by rounding; ties count as at least as extreme.
  const double least = std::abs(observed) - 1e-11 * size;
  if (least <= 0) return 1.0;
  // Meet in the middle. By symmetry the sums at most -least are as many as those at least +least.
  const std::vector<double> left = signed_sums(differences, 0, n / 2), right = signed_sums(differences, n / 2, n);
  double extreme = 0;
  auto from = right.end();  // moves down as the left sum grows
  for (const double sum : left) {
    while (from != right.begin() && *std::prev(from) + sum >= least) --from;
    extreme += static_cast<double>(right.end() - from);
  }
  return std::min(1.0, 2 * extreme / std::ldexp(1.0, static_cast<int>(n)));
}

double sign_flip_floor(int pairs) { return pairs < 1 ? kUndefined : std::ldexp(1.0, 1 - pairs); }

}  // namespace locus

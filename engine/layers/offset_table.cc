// Learned tables of relative positions on other grids.
#include "engine/layers/offset_table.h"

#include <ATen/ops/linalg_solve.h>

#include <cmath>

namespace locus::engine {
namespace {

// Where the samples of a table of `source` offsets lie when it is read at the integers of one of `target`:
// 0, +-1, +-(1 + q), +-(1 + q + q^2), ...
std::vector<double> geometric_positions(std::int64_t source, std::int64_t target) {
  const auto sum_of = [&](double q) { return (1 - std::pow(q, static_cast<double>(source / 2))) / (1 - q); };
  double low = 1.01, high = 1.5, q = low;
  while (high - low > 1e-6) {
    q = (low + high) / 2;
    (sum_of(q) > static_cast<double>(target / 2) ? high : low) = q;
  }
  std::vector<double> positions(static_cast<std::size_t>(source), 0.0);
  double at = 0, step = 1;
  const auto middle = static_cast<std::size_t>(source / 2);
  for (std::size_t i = 1; i <= middle; ++i, step *= q) {
    at += step;
    positions[middle + i] = at;
    positions[middle - i] = -at;
  }
  return positions;
}

// The second derivatives at the samples of the not-a-knot cubic spline through them, as a map [n, n] of its
// values (de Boor, "A Practical Guide to Splines", chapter IV).
Tensor spline_curvature(const std::vector<double>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto step = [&](std::int64_t i) { return x[static_cast<std::size_t>(i + 1)] - x[static_cast<std::size_t>(i)]; };
  Tensor left = at::zeros({n, n}, at::kDouble), right = at::zeros({n, n}, at::kDouble);
  auto l = left.accessor<double, 2>(), r = right.accessor<double, 2>();
  for (std::int64_t i = 1; i + 1 < n; ++i) {
    l[i][i - 1] = step(i - 1), l[i][i] = 2 * (step(i - 1) + step(i)), l[i][i + 1] = step(i);
    r[i][i - 1] = 6 / step(i - 1), r[i][i] = -6 / step(i - 1) - 6 / step(i), r[i][i + 1] = 6 / step(i);
  }
  const auto no_knot = [&](std::int64_t row, std::int64_t first) {
    const double before = step(first), after = step(first + 1);
    l[row][first] = after, l[row][first + 1] = -before - after, l[row][first + 2] = before;
  };
  no_knot(0, 0);
  no_knot(n - 1, n - 3);
  return at::linalg_solve(left, right);
}

}  // namespace

Tensor geometric_weights(std::int64_t source, std::int64_t target) {
  const std::vector<double> positions = geometric_positions(source, target);
  Tensor weights = at::zeros({target, source}, at::kDouble);
  auto w = weights.accessor<double, 2>();
  for (std::int64_t t = 0; t < target; ++t) {
    const double wanted = static_cast<double>(t - target / 2);
    std::int64_t right = 0;
    while (right < source && positions[static_cast<std::size_t>(right)] < wanted) ++right;
    if (right == 0 || right == source) {
      w[t][right == 0 ? 0 : source - 1] = 1;
      continue;
    }
    const double before = positions[static_cast<std::size_t>(right - 1)],
                 after = positions[static_cast<std::size_t>(right)];
    w[t][right] = (wanted - before) / (after - before);
    w[t][right - 1] = 1 - w[t][right];
  }
  return weights;
}

Tensor spline_weights(std::int64_t source, std::int64_t target) {
  const Tensor linear = geometric_weights(source, target);
  if (source < 4) return linear;
  const std::vector<double> positions = geometric_positions(source, target);
  const Tensor curvature = spline_curvature(positions);
  Tensor weights = linear.clone();
  const auto w = linear.accessor<double, 2>();
  for (std::int64_t t = 0; t < target; ++t) {
    std::int64_t at = 0;
    while (at + 1 < source && !(w[t][at] > 0 && w[t][at + 1] > 0)) ++at;
    if (at + 1 == source) continue;  // on a sample, or beyond the last
    const double h = positions[static_cast<std::size_t>(at + 1)] - positions[static_cast<std::size_t>(at)];
    const auto bend = [&](double share) { return (share * share * share - share) * h * h / 6; };
    weights[t] += curvature[at] * bend(w[t][at]) + curvature[at + 1] * bend(w[t][at + 1]);
  }
  return weights;
}

}  // namespace locus::engine

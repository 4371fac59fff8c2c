// Learned relative position bias: a table by offset, resized to other grids.
#include <algorithm>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

double cubic(double t) {
  constexpr double a = -0.75;
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// The ratio whose geometric progression of as many steps as the old table has to one side spans the new
// one's.
double ratio(std::int64_t old, std::int64_t now) {
  double left = 1.01, right = 1.5, q = left;
  while (right - left > 1e-6) {
    q = (left + right) / 2;
    double reach = 0;
    for (std::int64_t i = 0; i < old / 2; ++i) reach += std::pow(q, static_cast<double>(i));
    if (reach > static_cast<double>(now / 2)) {
      right = q;
    } else {
      left = q;
    }
  }
  return q;
}

// Weights of the old offsets of an axis at the new offset `at` (both counted from the most negative).
std::vector<double> weights(bool geometric, std::int64_t old, std::int64_t now, std::int64_t at) {
  std::vector<double> out(static_cast<std::size_t>(old), 0.0);
  if (!geometric) {
    const double position = (static_cast<double>(at) + 0.5) * static_cast<double>(old) / static_cast<double>(now) - 0.5;
    const auto base = static_cast<std::int64_t>(std::floor(position));
    for (std::int64_t tap = base - 1; tap <= base + 2; ++tap)
      out[static_cast<std::size_t>(std::clamp<std::int64_t>(tap, 0, old - 1))] +=
          cubic(position - static_cast<double>(tap));
    return out;
  }
  const double q = ratio(old, now), wanted = static_cast<double>(at - now / 2);
  const double sign = wanted < 0 ? -1 : 1;
  const std::int64_t middle = old / 2;
  double here = 0;
  for (std::int64_t step = 0; step < middle; ++step) {
    const double next = here + std::pow(q, static_cast<double>(step));
    if (std::abs(wanted) <= next) {
      const double part = (std::abs(wanted) - here) / (next - here);
      out[static_cast<std::size_t>(middle + static_cast<std::int64_t>(sign) * step)] = 1 - part;
      out[static_cast<std::size_t>(middle + static_cast<std::int64_t>(sign) * (step + 1))] = part;
      return out;
    }
    here = next;
  }
  out[static_cast<std::size_t>(sign < 0 ? 0 : old - 1)] = 1;  // beyond the last sample
  if (middle == 0) out[0] = 1;
  return out;
}

// The spline once more: values at the samples fix a cubic and a jump of the third derivative at every sample
// but the outer two on either side. Weights of the samples at `wanted`, by elimination.
std::vector<double> spline(std::int64_t old, std::int64_t now, double wanted) {
  const double q = ratio(old, now);
  std::vector<double> x(1, 0.0);
  for (std::int64_t step = 0; step < old / 2; ++step) {
    const double next = x.back() + std::pow(q, static_cast<double>(step));
    x.push_back(next);
    x.insert(x.begin(), -next);
  }
  const auto n = x.size();
  const auto basis = [&](std::size_t k, double at) {
    if (k < 4) return std::pow(at, static_cast<double>(k));
    const double beyond = at - x[k - 2];
    return beyond > 0 ? beyond * beyond * beyond : 0.0;
  };
  // weights w with sum_i w_i basis_k(x_i) = basis_k(wanted) for every k
  const double at = std::clamp(wanted, x.front(), x.back());
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1));
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) rows[k][i] = basis(k, x[i]);
    rows[k][n] = basis(k, at);
  }
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t most = c;
    for (std::size_t r = c + 1; r < n; ++r) most = std::abs(rows[r][c]) > std::abs(rows[most][c]) ? r : most;
    std::swap(rows[c], rows[most]);
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = r == c ? 0 : rows[r][c] / rows[c][c];
      for (std::size_t e = c; e <= n; ++e) rows[r][e] -= factor * rows[c][e];
    }
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(rows[i][n] / rows[i][i]);
  return out;
}

class RelativeBias final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    const bool beit = c.text("prefix") == "beit";
    const Array& table = c.own("table");
    const std::int64_t offsets = (2 * c.reference_extent[0] - 1) * (2 * c.reference_extent[1] - 1);
    for (std::int64_t n = 0; n < c.heads; ++n) {
      const Array grid = resized(c, n);
      for (std::int64_t i = 0; i < c.tokens(); ++i) {
        for (std::int64_t j = 0; j < c.tokens(); ++j) {
          Real value = 0.0;
          if (c.patch(i) && c.patch(j)) {
            value = grid(c.row(i) - c.row(j) + c.extent[0] - 1, c.column(i) - c.column(j) + c.extent[1] - 1);
          } else if (beit) {
            value = table(offsets + (c.patch(j) ? 0 : c.patch(i) ? 1 : 2), n);
          }
          for (std::int64_t b = 0; b < c.batch; ++b) out(b, n, i, j) = value;
        }
      }
    }
    return out;
  }

 private:
  // One head's table for the present grid, [2 Hp - 1, 2 Wp - 1].
  static Array resized(const ReferenceContext& c, std::int64_t n) {
    const std::int64_t rows = 2 * c.extent[0] - 1, columns = 2 * c.extent[1] - 1;
    const std::int64_t old_rows = 2 * c.reference_extent[0] - 1, old_columns = 2 * c.reference_extent[1] - 1;
    const Array& table = c.own("table");
    Array out({rows, columns});
    for (std::int64_t y = 0; y < rows; ++y) {
      for (std::int64_t x = 0; x < columns; ++x) {
        if (c.extent == c.reference_extent) {
          out(y, x) = table(y * columns + x, n);
          continue;
        }
        const auto along = [&](std::int64_t old, std::int64_t now, std::int64_t at) {
          if (c.text("resize") == "geometric-cubic" && old >= 4)
            return spline(old, now, static_cast<double>(at - now / 2));
          return weights(c.text("resize") != "bicubic", old, now, at);
        };
        const auto down = along(old_rows, rows, y), across = along(old_columns, columns, x);
        for (std::int64_t a = 0; a < old_rows; ++a) {
          for (std::int64_t z = 0; z < old_columns; ++z) {
            const double weight = down[static_cast<std::size_t>(a)] * across[static_cast<std::size_t>(z)];
            if (weight != 0) out(y, x) += table(a * old_columns + z, n) * weight;
          }
        }
      }
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_relative_bias() { return std::make_unique<RelativeBias>(); }

}  // namespace locus::engine::test

// Learned relative position bias: a table by offset, resized to other grids.
#include <algorithm>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::test {
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
    const double position =
        (static_cast<double>(at) + 0.5) * static_cast<double>(old) / static_cast<double>(now) - 0.5;
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
        const bool geometric = c.text("resize") == "geometric";
        const auto down = weights(geometric, old_rows, rows, y);
        const auto across = weights(geometric, old_columns, columns, x);
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

}  // namespace locus::test

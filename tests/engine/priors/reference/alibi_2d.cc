// ALiBi on a grid: -m_n |r_i - r_j|.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

// The paper's: for a power of two 2^(-8 (n + 1) / h); else those of the power below, then of the power above
// the first, third, fifth, ...
double slope(std::int64_t heads, std::int64_t n) {
  std::int64_t below = 1;
  while (2 * below <= heads) below *= 2;
  if (n < below) return std::pow(2.0, -8.0 * static_cast<double>(n + 1) / static_cast<double>(below));
  return std::pow(2.0, -8.0 * static_cast<double>(2 * (n - below) + 1) / static_cast<double>(2 * below));
}

class Alibi2d final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    const bool origin = c.text("prefix") == "origin";
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t n = 0; n < c.heads; ++n)
        for (std::int64_t i = 0; i < c.tokens(); ++i)
          for (std::int64_t j = 0; j < c.tokens(); ++j) {
            if (!origin && (!c.patch(i) || !c.patch(j))) continue;
            out(b, n, i, j) = -slope(c.heads, n) * distance(c, i, j);
          }
    return out;
  }

 private:
  static double distance(const ReferenceContext& c, std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::size_t axis = 0; axis < c.extent.size(); ++axis)
      sum += std::pow(position(c, i, axis) - position(c, j, axis), 2);
    return std::sqrt(sum);
  }
  // Prefix tokens at 0, patches from 1 on; without a prefix the start does not matter.
  static double position(const ReferenceContext& c, std::int64_t token, std::size_t axis) {
    if (!c.patch(token)) return 0;
    const auto at = static_cast<double>(c.at(token, axis) + 1);
    if (c.text("other_grids") != "interpolate") return at;
    const std::size_t of = c.axis < 0 ? axis : static_cast<std::size_t>(c.axis);
    return at * static_cast<double>(c.reference_extent[of]) / static_cast<double>(c.extent[axis]);
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_alibi_2d() { return std::make_unique<Alibi2d>(); }

}  // namespace locus::engine::test

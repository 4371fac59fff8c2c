// Learned absolute positions: z + E, E resized by cubic convolution.
#include <algorithm>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

// Keys' cubic convolution kernel.
double cubic(double t, double a) {
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// Weights of the `old` samples of an axis for one of the `now` new ones.
std::vector<double> weights(const std::string& manner, std::int64_t old, std::int64_t now, std::int64_t at) {
  std::vector<double> out(static_cast<std::size_t>(old), 0.0);
  const double ratio = static_cast<double>(old) / (static_cast<double>(now) + (manner == "dino" ? 0.1 : 0.0));
  if (manner == "timm") {
    const double center = (static_cast<double>(at) + 0.5) * ratio, wide = std::max(ratio, 1.0);
    double sum = 0;
    for (std::int64_t j = 0; j < old; ++j)
      sum += out[static_cast<std::size_t>(j)] = cubic((static_cast<double>(j) + 0.5 - center) / wide, -0.5);
    for (double& w : out) w /= sum;
    return out;
  }
  const double position = (static_cast<double>(at) + 0.5) * ratio - 0.5;
  const auto base = static_cast<std::int64_t>(std::floor(position));
  for (std::int64_t tap = base - 1; tap <= base + 2; ++tap) {
    out[static_cast<std::size_t>(std::clamp<std::int64_t>(tap, 0, old - 1))] +=
        cubic(position - static_cast<double>(tap), -0.75);
  }
  return out;
}

class LearnedAbsolute final : public ReferencePrior {
 public:
  void embed(const ReferenceContext& c, bool after_prefix, Array& tokens) override {
    const std::string rows = c.text("rows");
    const std::int64_t own = rows == "with-prefix"  ? c.prefix
                             : rows == "with-class" ? std::min<std::int64_t>(c.prefix, 1)
                                                    : 0;
    if (after_prefix != (own > 0)) return;
    const std::int64_t first = after_prefix ? c.prefix : 0;
    for (std::int64_t b = 0; b < tokens.size(0); ++b) {
      for (std::int64_t channel = 0; channel < c.width; ++channel) {
        for (std::int64_t t = 0; t < own; ++t) tokens(b, t, channel) += c.parameter("table")(t, channel);
        for (std::int64_t n = 0; n < c.patches(); ++n) tokens(b, first + n, channel) += patch(c, own, n, channel);
      }
    }
  }

 private:
  static Real patch(const ReferenceContext& c, std::int64_t own, std::int64_t n, std::int64_t channel) {
    const Array& table = c.parameter("table");
    if (c.extent == c.reference_extent) return table(own + n, channel);
    const std::int64_t rows = c.reference_extent[0], columns = c.reference_extent[1];
    const auto down = weights(c.text("resize"), rows, c.extent[0], n / c.extent[1]);
    const auto across = weights(c.text("resize"), columns, c.extent[1], n % c.extent[1]);
    Real sum = 0.0;
    for (std::int64_t y = 0; y < rows; ++y) {
      for (std::int64_t x = 0; x < columns; ++x) {
        const double weight = down[static_cast<std::size_t>(y)] * across[static_cast<std::size_t>(x)];
        if (weight != 0) sum += table(own + y * columns + x, channel) * weight;
      }
    }
    return sum;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_learned_absolute() { return std::make_unique<LearnedAbsolute>(); }

}  // namespace locus::engine::test

// Fixed sines and cosines of column and row.
#include <algorithm>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class Sincos2d final : public ReferencePrior {
 public:
  void embed(const ReferenceContext& c, bool after_prefix, Array& tokens) override {
    const bool pape = c.text("order") == "pape";
    if (after_prefix != pape) return;
    if (c.extent.size() == 3) return embed_box(c, tokens);
    for (std::int64_t b = 0; b < tokens.size(0); ++b) {
      for (std::int64_t t = 0; t < tokens.size(1); ++t) {
        double y = 0, x = 0;
        const std::int64_t n = pape ? t - c.prefix : t;
        if (n >= 0) {
          y = position(c, 0, n / c.extent[1], pape);
          x = position(c, 1, n % c.extent[1], pape);
        }
        for (std::int64_t channel = 0; channel < c.width; ++channel) tokens(b, t, channel) += value(c, y, x, channel);
      }
    }
  }

 private:
  // A third of the channels for t, y and x each, the rest with x; counted from 1, prefix tokens at 0.
  static void embed_box(const ReferenceContext& c, Array& tokens) {
    const std::int64_t share = c.width / 3;
    for (std::int64_t b = 0; b < tokens.size(0); ++b) {
      for (std::int64_t t = 0; t < tokens.size(1); ++t) {
        for (std::int64_t channel = 0; channel < c.width; ++channel) {
          const std::int64_t axis = std::min<std::int64_t>(channel / share, 2), first = axis * share;
          const auto side = static_cast<std::size_t>(axis);
          const double at = c.patch(t) ? position(c, side, c.at(t, side), true) : 0;
          tokens(b, t, channel) += wave(at, channel - first, axis == 2 ? c.width - first : share, c.number("base"));
        }
      }
    }
  }

  static double position(const ReferenceContext& c, std::size_t axis, std::int64_t index, bool from_one) {
    const double at = static_cast<double>(index) + (from_one ? 1 : 0);
    if (c.text("other_grids") != "interpolate") return at;
    return at * static_cast<double>(c.reference_extent[axis]) / static_cast<double>(c.extent[axis]);
  }

  static double value(const ReferenceContext& c, double y, double x, std::int64_t channel) {
    const std::string order = c.text("order");
    const std::int64_t quarter = c.width / 4;
    const double base = c.number("base");
    if (order == "pape") {  // widths that four does not divide have an odd axis
      const std::int64_t first = c.width / 2;
      const bool column = channel < first;
      return wave(column ? x : y, column ? channel : channel - first, column ? first : c.width - first, base);
    }
    const double frequency = std::pow(base, -static_cast<double>(channel % quarter) / static_cast<double>(quarter));
    const std::int64_t block = channel / quarter;
    const bool sine = order == "timm" ? block < 2 : block % 2 == 0;
    const bool row = order == "mae" ? block >= 2 : order == "timm" ? block % 2 == 0 : block < 2;
    const double angle = (row ? y : x) * frequency;
    return sine ? std::sin(angle) : std::cos(angle);
  }

  // One axis in pape's order: ceil(width / 2) sines, then cosines.
  static double wave(double at, std::int64_t channel, std::int64_t width, double base) {
    const std::int64_t sines = (width + 1) / 2, k = channel < sines ? channel : channel - sines;
    const double angle = at * std::pow(base, -2.0 * static_cast<double>(k) / static_cast<double>(width));
    return channel < sines ? std::sin(angle) : std::cos(angle);
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_sincos_2d() { return std::make_unique<Sincos2d>(); }

}  // namespace locus::engine::test

// Axial rotary embedding, pair by pair.
#include <numbers>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

struct Position {
  double y = 0, x = 0;
};

class RopeAxial final : public ReferencePrior {
 public:
  void transform(const ReferenceContext& c, Array& q, Array& k) override {
    for (Array* side : {&q, &k}) {
      for (std::int64_t b = 0; b < side->size(0); ++b)
        for (std::int64_t n = 0; n < c.heads; ++n)
          for (std::int64_t t = 0; t < c.tokens(); ++t) turn(c, *side, b, n, t);
    }
  }

 private:
  static void turn(const ReferenceContext& c, Array& side, std::int64_t b, std::int64_t n, std::int64_t t) {
    const std::string flavor = c.text("flavor");
    const bool neighbors = flavor == "rope-vit" || flavor == "visionllama" || flavor == "rmt";
    const bool box = c.extent.size() == 3;
    const std::int64_t own = c.head_width(), pairs = box ? 6 : 4;
    const std::int64_t width = flavor == "pape" ? (own + pairs - 1) / pairs * pairs : own;
    const Position at = box ? Position() : c.patch(t) ? patch(c, t) : prefix(c);
    std::vector<Real> wide(static_cast<std::size_t>(width), 0.0);
    for (std::int64_t i = 0; i < own; ++i) wide[static_cast<std::size_t>(i)] = side(b, n, t, i);
    for (std::int64_t pair = 0; pair < width / 2; ++pair) {
      const auto one = static_cast<std::size_t>(neighbors ? 2 * pair : pair);
      const auto other = static_cast<std::size_t>(neighbors ? 2 * pair + 1 : pair + width / 2);
      const double angle = box ? angle_in_box(c, t, pair, width) : angle_of(c, at, pair, width);
      const Real first = wide[one], second = wide[other];
      wide[one] = first * std::cos(angle) - second * std::sin(angle);
      wide[other] = first * std::sin(angle) + second * std::cos(angle);
    }
    for (std::int64_t i = 0; i < own; ++i) side(b, n, t, i) = wide[static_cast<std::size_t>(i)];
  }

  // The first third of the pairs turns with t, the second with y, the last with x, counted from 1.
  static double angle_in_box(const ReferenceContext& c, std::int64_t t, std::int64_t pair, std::int64_t width) {
    const std::int64_t share = width / 6;
    const auto axis = static_cast<std::size_t>(pair / share);
    double at = c.text("prefix") == "coordinate" ? c.number("prefix_coordinate") : 0;
    if (c.patch(t)) at = static_cast<double>(c.at(t, axis) + 1) * squeeze(c, axis);
    const double theta = c.number("theta") == 0 ? 10000 : c.number("theta");
    return at * std::pow(theta, -6.0 * static_cast<double>(pair % share) / static_cast<double>(width));
  }

  static double squeeze(const ReferenceContext& c, std::size_t axis) {
    if (c.text("other_grids") != "interpolate") return 1;
    return static_cast<double>(c.reference_extent[axis]) / static_cast<double>(c.extent[axis]);
  }

  static Position patch(const ReferenceContext& c, std::int64_t t) {
    const auto y = static_cast<double>(c.row(t)), x = static_cast<double>(c.column(t));
    const auto rows = static_cast<double>(c.extent[0]), columns = static_cast<double>(c.extent[1]);
    const std::string flavor = c.text("flavor");
    if (flavor == "rmt") return Position{0, (y * columns + x) * squeeze(c, 0) * squeeze(c, 1)};
    if (flavor != "dinov3") {
      const double first = flavor == "pape" ? 1 : 0;
      return {(y + first) * squeeze(c, 0), (x + first) * squeeze(c, 1)};
    }
    const std::string over = c.text("normalize");
    const double most = std::max(rows, columns), least = std::min(rows, columns);
    const double down = over == "max" ? most : over == "min" ? least : rows;
    const double across = over == "max" ? most : over == "min" ? least : columns;
    return augmented(c, {2 * (y + 0.5) / down - 1, 2 * (x + 0.5) / across - 1});
  }

  // Shift, jitter, rescale, in that order, while training.
  static Position augmented(const ReferenceContext& c, Position at) {
    if (!c.training) return at;
    const std::string who = c.text("draws") == "block" ? ".layers." + std::to_string(c.layer) : "";
    const auto draw = [&](const std::string& what, std::int64_t index, double range) {
      const auto drawn =
          c.random.uniform("rope-augmentation", "priors.rope-axial." + what + who, static_cast<std::uint64_t>(c.step),
                           {what == "rescale" ? 1 : 2}, -range, range);
      return static_cast<double>(drawn.const_data_ptr<float>()[index]);
    };
    if (const double s = c.number("shift"); s > 0) at = {at.y + draw("shift", 0, s), at.x + draw("shift", 1, s)};
    if (const double j = std::log(c.number("jitter")); j > 0)
      at = {at.y * std::exp(draw("jitter", 0, j)), at.x * std::exp(draw("jitter", 1, j))};
    if (const double r = std::log(c.number("rescale")); r > 0) {
      const double factor = std::exp(draw("rescale", 0, r));
      at = {at.y * factor, at.x * factor};
    }
    return at;
  }

  static Position prefix(const ReferenceContext& c) {
    if (c.text("prefix") == "coordinate") return {c.number("prefix_coordinate"), c.number("prefix_coordinate")};
    if (c.text("flavor") != "visionllama") return {};
    return {-1 * squeeze(c, 0), static_cast<double>(c.extent[1] - 1) * squeeze(c, 1)};
  }

  static double angle_of(const ReferenceContext& c, Position at, std::int64_t pair, std::int64_t width) {
    const std::string flavor = c.text("flavor");
    const std::int64_t quarter = width / 4;
    double theta = c.number("theta");
    if (theta == 0) theta = flavor == "rope-vit" || flavor == "dinov3" ? 100 : 10000;
    if (flavor == "rmt") {
      const double place = width == 2 ? 0 : static_cast<double>(pair) / static_cast<double>(width / 2 - 1);
      return (c.text("prefix") == "coordinate" && at.y != 0 ? at.y : at.x) * std::pow(theta, -place);
    }
    const bool alternate = flavor == "visionllama";
    const std::int64_t k = alternate ? pair / 2 : pair % quarter;
    const bool second = alternate ? pair % 2 == 1 : pair >= quarter;
    const bool row = flavor == "dinov3" ? !second : second;
    const double frequency = std::pow(theta, -4.0 * static_cast<double>(k) / static_cast<double>(width));
    if (flavor != "dinov3") return (row ? at.y : at.x) * frequency;
    double period = 1 / frequency;
    if (const double least = c.number("min_period"); least > 0) {
      const double place = quarter == 1 ? 0 : static_cast<double>(k) / static_cast<double>(quarter - 1);
      period = least * std::pow(c.number("max_period") / least, place);
    }
    return 2 * std::numbers::pi * (row ? at.y : at.x) / period;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_rope_axial() { return std::make_unique<RopeAxial>(); }

}  // namespace locus::engine::test

// Active spatial guidance: how far the coordinates read from the features are off.
#include <algorithm>

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class Guidance final : public ReferencePrior {
 public:
  Real loss(const ReferenceContext& c, const Array& before, const Array& after) override {
    const Array& features = c.text("tap") == "pre-norm" ? before : after;
    const auto axes = static_cast<std::int64_t>(c.extent.size());
    Real sum = 0.0;
    for (std::int64_t b = 0; b < features.size(0); ++b) {
      for (std::int64_t t = c.prefix; t < c.tokens(); ++t) {
        for (std::int64_t axis = 0; axis < axes; ++axis) {
          const std::int64_t side = c.extent[static_cast<std::size_t>(axis)];
          const auto last = static_cast<double>(std::max<std::int64_t>(side - 1, 1));
          const double wanted = static_cast<double>(c.at(t, static_cast<std::size_t>(axis))) /
                                (c.text("targets") == "normalized" ? last : 1);
          sum += error(c, read(c, features, b, t, axis) - wanted);
        }
      }
    }
    const auto count = static_cast<double>(features.size(0) * c.patches() * axes);
    const double ramp = std::min(1.0, static_cast<double>(c.step + 1) / c.number("warmup_steps"));
    return sum / count * (c.number("start") + (c.number("lambda") - c.number("start")) * ramp);
  }

 private:
  static Real error(const ReferenceContext& c, const Real& e) {
    const std::string kind = c.text("error");
    if (kind == "l1") return abs(e);
    if (kind == "mse") return e * e;
    const double beta = c.number("beta");
    return std::abs(e.value()) < beta ? e * e * (0.5 / beta) : abs(e) - 0.5 * beta;
  }

  // Linear - ReLU - Linear of one patch's features.
  static Real read(const ReferenceContext& c, const Array& features, std::int64_t b, std::int64_t t,
                   std::int64_t axis) {
    const std::int64_t hidden = c.integer("hidden");
    Real out = c.parameter("out_bias")(axis);
    for (std::int64_t u = 0; u < hidden; ++u) {
      Real unit = c.parameter("in_bias")(axis * hidden + u);
      for (std::int64_t i = 0; i < c.width; ++i)
        unit += c.parameter("in_weight")(axis * hidden + u, i) * features(b, t, i);
      out += c.parameter("out_weight")(axis, u) * maximum(unit, 0.0);
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_guidance() { return std::make_unique<Guidance>(); }

}  // namespace locus::engine::test

// Rotary embedding along learned directions.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class RopeMixed final : public ReferencePrior {
 public:
  void transform(const ReferenceContext& c, Array& q, Array& k) override {
    const bool divisors = c.text("init") == "pape";
    const Array& rates = c.own(divisors ? "frequencies" : "freqs");
    const std::int64_t pairs = c.head_width() / 2;
    for (std::int64_t t = c.prefix; t < c.tokens(); ++t) {
      const std::vector<double> place = position(c, t, divisors ? 1 : 0);
      for (std::int64_t n = 0; n < c.heads; ++n) {
        for (std::int64_t pair = 0; pair < pairs; ++pair) {
          Real angle = 0.0;
          for (std::size_t axis = 0; axis < place.size(); ++axis) {
            const Real& rate = rates(static_cast<std::int64_t>(axis), n, pair);
            angle += divisors ? Real(place[axis]) / rate : rate * place[axis];
          }
          const Real cosine = cos(angle), sine = sin(angle);
          const std::int64_t one = divisors ? pair : 2 * pair, other = divisors ? pair + pairs : 2 * pair + 1;
          for (Array* side : {&q, &k}) {
            for (std::int64_t b = 0; b < side->size(0); ++b) {
              const Real a = (*side)(b, n, t, one), z = (*side)(b, n, t, other);
              (*side)(b, n, t, one) = a * cosine - z * sine;
              (*side)(b, n, t, other) = a * sine + z * cosine;
            }
          }
        }
      }
    }
  }

 private:
  // x before y on a rectangle, else in the order of the axes.
  static std::vector<double> position(const ReferenceContext& c, std::int64_t token, double first) {
    std::vector<double> out;
    const std::size_t axes = c.extent.size();
    for (std::size_t i = 0; i < axes; ++i) {
      const std::size_t axis = axes == 2 ? 1 - i : i;
      out.push_back((static_cast<double>(c.at(token, axis)) + first) * squeeze(c, axis));
    }
    return out;
  }

  static double squeeze(const ReferenceContext& c, std::size_t axis) {
    if (c.text("other_grids") != "interpolate") return 1;
    return static_cast<double>(c.reference_extent[axis]) / static_cast<double>(c.extent[axis]);
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_rope_mixed() { return std::make_unique<RopeMixed>(); }

}  // namespace locus::engine::test

// -a_i |w (r_j - r_i)|^2 from coordinates that start at 1.
#include "tests/engine/priors/reference/points.h"

namespace locus::engine::test {
namespace {

class PapeRi final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t n = 0; n < c.heads; ++n) {
        for (std::int64_t i = 0; i < c.tokens(); ++i) {
          Real a = 0.0;
          for (std::int64_t k = 0; k < c.width; ++k) a += (*c.x)(b, i, k) * c.own("a")(n, k);
          a = softplus(a);
          const std::vector<double> from = reference_point(c, i);
          for (std::int64_t j = 0; j < c.tokens(); ++j) {
            if (c.text("prefix") == "zero-term" && (!c.patch(i) || !c.patch(j))) continue;
            const std::vector<double> to = reference_point(c, j);
            Real square = 0.0;
            for (std::size_t axis = 0; axis < to.size(); ++axis) {
              const Real apart = c.own("w")(n) * (to[axis] - from[axis]);
              square += apart * apart;
            }
            out(b, n, i, j) = -a * square * c.scale;
          }
        }
      }
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_pape_ri() { return std::make_unique<PapeRi>(); }

}  // namespace locus::engine::test

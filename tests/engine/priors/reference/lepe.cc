// Locally enhanced position encoding: a convolution of the values.
#include "tests/engine/priors/reference/convolution.h"

namespace locus::engine::test {
namespace {

class Lepe final : public ReferencePrior {
 public:
  Array add_output(const ReferenceContext& c) override {
    Array values({c.batch, c.tokens(), c.width});
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t t = 0; t < c.tokens(); ++t)
        for (std::int64_t n = 0; n < c.heads; ++n)
          for (std::int64_t i = 0; i < c.head_width(); ++i) values(b, t, n * c.head_width() + i) = (*c.v)(b, n, t, i);
    return convolved(c, values, c.own("convolution.weight"), c.own("convolution.bias"));
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_lepe() { return std::make_unique<Lepe>(); }

}  // namespace locus::engine::test

// The drill's prior: later patches of the raster weigh more.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {
namespace {

class DrillRamp final : public ReferencePrior {
 public:
  Array bias(const ReferenceContext& c) override {
    Array out({c.batch, c.heads, c.tokens(), c.tokens()});
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t n = 0; n < c.heads; ++n)
        for (std::int64_t i = 0; i < c.tokens(); ++i)
          for (std::int64_t j = c.prefix; j < c.tokens(); ++j)
            out(b, n, i, j) = c.number("slope") * static_cast<double>(j - c.prefix);
    return out;
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_drill_ramp() { return std::make_unique<DrillRamp>(); }

}  // namespace locus::engine::test

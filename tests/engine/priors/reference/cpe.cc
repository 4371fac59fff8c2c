// Conditional position encoding: z + DWConv3x3(z).
#include "tests/engine/priors/reference/convolution.h"

namespace locus::engine::test {
namespace {

class Cpe final : public ReferencePrior {
 public:
  void block_embed(const ReferenceContext& c, bool end, Array& tokens) override {
    const bool every = c.text("place") == "every-block";
    if (end == every || (!every && c.layer != 0)) return;
    const Array added = convolved(c, tokens, c.own("convolution.weight"), c.own("convolution.bias"));
    for (std::size_t i = 0; i < added.data().size(); ++i) tokens.data()[i] += added.data()[i];
  }
};

}  // namespace

std::unique_ptr<ReferencePrior> reference_cpe() { return std::make_unique<Cpe>(); }

}  // namespace locus::engine::test

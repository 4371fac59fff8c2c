// No position encoding.
#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {

std::unique_ptr<ReferencePrior> reference_none() { return std::make_unique<ReferencePrior>(); }

}  // namespace locus::engine::test

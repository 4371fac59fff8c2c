// The softmax attention of the algebra, as scalar loops: what a whole grid, a line and a window share.
#pragma once

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {

// One prior where a hook of the softmax is called.
struct ReferenceHere {
  ReferencePrior& prior;
  ReferenceContext context;
};

// Whether sample b hides key j from query i.
using Hides = std::function<bool(std::int64_t b, std::int64_t i, std::int64_t j)>;

// L = prod(scale) c q k^T + sum(bias), times the scales of the sum, -100 where a pair is hidden;
// P = probabilities(softmax L); P V + sum(from_probabilities). q, k (transformed) and v [B, H, T, d].
Array reference_softmax(const std::vector<ReferenceHere>& priors, const Array& q, const Array& k, const Array& v,
                        const Hides& hides = nullptr);

// Both throw std::out_of_range where the shapes differ.
void add(Array& to, const Array& what);
void multiply(Array& to, const Array& what);

// Rows [part * D + head * d + c] of a projection [B, T, 3 D], as [B, H, T, d].
Array reference_heads(const Array& projected, std::int64_t part, std::int64_t heads);

}  // namespace locus::engine::test

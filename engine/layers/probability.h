// What priors do to the probabilities of attention, where it can be said by forms: paths that never hold all of P follow
// it. What cannot is a function of P.
#pragma once

#include "engine/layers/forms.h"

namespace locus::engine {

// P times the term, not normalized again.
struct Weighted {
  BiasTerm term;
};

// P plus the term, not normalized again.
struct Shifted {
  BiasTerm term;
};

// (1 - share) P + share softmax(logits), the second softmax over the patches alone. Rows of prefix tokens stay as they
// are, and place gives their columns nothing.
struct Blended {
  BiasTerm logits;          // what it says of prefix tokens is not looked at
  Tensor share;             // [H], between 0 and 1
  std::int64_t prefix = 0;  // tokens in front that have no place
};

using ProbabilityTerm = std::variant<Weighted, Shifted, Blended>;

// What the term makes of p [B, H, T, T]; in float32 or better, [B, H, T, T].
Tensor apply_term(const ProbabilityTerm& term, const Tensor& p);

// sum_j P[i, j] table[index[i, j]], added to the output.
struct ValueTable {
  Tensor table;     // [B|1, H|1, R, d]
  PairIndex index;  // below R
  // The sum for p [B, H, T, T]: [B, H, T, d]. P is summed by entry of the table, then there is one product.
  Tensor of(const Tensor& p) const;
};

}  // namespace locus::engine

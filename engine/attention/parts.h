// Attention whose probabilities priors change, as a sum of attentions whose probabilities are weighted at most.
#pragma once

#include "engine/attention/path.h"

namespace locus::engine {

struct AttentionPart {
  Scores scores;     // weights are its only probability terms; no value tables
  Tensor rows = {};  // [1, 1|H, 1|T, 1] that its output is multiplied by; undefined: one
};

// Terms of P are affine in it, so the output is the sum of the parts' outputs, and that of value tables the sum of what
// they make of the parts' probabilities:
//   P + S           a softmax of equal logits, weighted by S, times T
//   (1 - s) P + s Q both softmaxes with a factor a row; in Q prefix tokens are apart, and their rows get nothing of it
// Weights that come later are weights of every part before. The scores must outlive the parts.
std::vector<AttentionPart> attention_parts(const Scores& scores);

// The scores with other values and no value tables; both must outlive it.
Scores with_values(const Scores& scores, const Tensor& values);

}  // namespace locus::engine

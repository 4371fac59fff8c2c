// Cross-entropy with its gradient, in one pass over the logits.
#pragma once

#include <optional>

#include "engine/base/torch.h"

namespace locus::engine::fused {

// The mean over B of -sum (t log softmax(logits)), t = (1 - smoothing) target + smoothing / C (Szegedy et al. 2016, section
// 7), of logits [B, C] with `labels_or_targets`: int64 [B], or distributions [B, C] in the logits' type, which get no
// gradient. Where the logits record one, it is computed with the value. Cannot be differentiated twice. Nothing where
// that is not for this: another device than the CPU, other types, targets that learn, labels outside 0..C-1.
std::optional<Tensor> cross_entropy(const Tensor& logits, const Tensor& labels_or_targets, double smoothing);

}  // namespace locus::engine::fused

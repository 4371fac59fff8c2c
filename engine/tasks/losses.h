// Losses of classification.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// All are means over the batch, of logits [B, classes], in float32 where these are of half precision, as PyTorch's mixed
// precision has it. A target is float [B, classes], a distribution for each sample.

// -sum (t' log softmax(logits)), t' = (1 - smoothing) t + smoothing / classes (Szegedy et al. 2016, section 7). `labels` int64
// [B] stand for distributions that are certain.
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& labels_or_targets, double smoothing);

// The mean over classes as well of the binary cross-entropy of sigmoid(logits) with targets made 1 where they are above
// 0 (DeiT-III; Wightman et al. 2021): both classes of a mixed image count fully, whatever their shares.
Tensor binarized_cross_entropy(const Tensor& logits, const Tensor& labels_or_targets);

// For each sample, how many classes stand before its label: larger logits, and equal ones of lower index. int64 [B]. A
// label whose logit is no number stands behind all.
Tensor ranks(const Tensor& logits, const Tensor& labels);

}  // namespace locus::engine

// Sums over learned columns by positive strengths that tokens have of the content.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// softplus(x strengths^T) columns + x more^T, [B, T, O] in the type of `columns` (float32 or float64): x [B, T, D], strengths
// [K, D], columns [K, O], more [O, D] or undefined. In mixed precision (Autocast) the first product takes rounded operands, the
// others do not. Differentiable once.
Tensor sum_by_strengths(const Tensor& x, const Tensor& strengths, const Tensor& columns, const Tensor& more);

}  // namespace locus::engine

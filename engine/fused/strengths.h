// Positive numbers of tokens and what is summed by them, without a pass over each.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine::fused {

// softplus(x strengths^T) columns + x more^T, [B, T, O]: x [B, T, D], strengths [K, D], columns [K, O], more [O, D] or undefined.
// softplus(u) = log(1 + e^u), u itself above 20, as PyTorch has it. All of one type and x as fits() says, outside of mixed
// precision. Differentiable once; sums over tokens run in an order that depends on shapes alone.
Tensor sum_by_strengths(const Tensor& x, const Tensor& strengths, const Tensor& columns, const Tensor& more);

}  // namespace locus::engine::fused

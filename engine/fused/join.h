// How a branch joins the stream, as the fused passes share it; none of it records gradients.
#pragma once

#include "engine/fused/branch.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {

// x + factors (product + bias): x [B, T, D], product [B T, D], which is overwritten where `keep` says that it may be.
Tensor joined(const Tensor& x, Tensor& product, const Tensor& bias, const BranchFactors& factors, bool keep);

struct JoinGradients {
  Tensor product;         // [B T, D] in the type of operands
  Tensor bias, channels;  // [D]; the second undefined without such factors
};
// Of the same, dy [B, T, D] contiguous; `product` may be undefined without factors of channels.
JoinGradients join_gradients(const Tensor& dy, const Tensor& product, const Tensor& bias, const BranchFactors& factors,
                             at::ScalarType operands);

}  // namespace locus::engine::fused

// Layer norm of rows, as the fused passes share it; none of it records gradients.
#pragma once

#include "engine/fused/branch.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {

struct NormedRows {
  Tensor rows;        // [..., D] in the type asked for
  Tensor mean, rstd;  // [rows], in the type of x
};
NormedRows normed_rows(const Tensor& x, const NormWeights& norm, at::ScalarType type);

struct NormGradients {
  Tensor x, weight, bias;
};
// For dy, the gradient of the normed rows, in the type of x; `more` [..., D], where it is defined, is added to that of x.
NormGradients norm_gradients(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                             const Tensor& weight, const Tensor& more);

}  // namespace locus::engine::fused

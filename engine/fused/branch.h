// Passes over the tokens of a transformer block that do at once what a graph of single operations does in many: each is
// one node of the graph, with its gradients written out by hand. Numbers agree with those of the single operations up to
// the order of sums; sums over tokens run in an order that depends on their number alone, not on threads.
//
// Everything is contiguous and of one type, fits() says which; in mixed precision (Autocast, bfloat16) operands of
// products are rounded, and all else stays float32: statistics, sums, gradients of parameters, the residual stream. None
// can be differentiated twice. Not thread-safe for the same tensors.
#pragma once

#include "engine/base/torch.h"
#include "engine/fused/switch.h"

namespace locus::engine::fused {

// Layer norm over the last axis with a factor and a summand for each channel, [D] (Ba et al. 2016, arXiv:1607.06450).
struct NormWeights {
  Tensor weight, bias;
  double eps = 0;
};

// y = x weight^T + bias, weight [out, in], bias [out].
struct LinearWeights {
  Tensor weight, bias;
};

// What a branch's numbers are multiplied by before they join the stream; each may be undefined.
struct BranchFactors {
  Tensor channels;  // [D]
  Tensor samples;   // [B], in the stream's type; no gradient is computed
};

// A residual stream [B, T, D] and its norm. The stream is the one given; who goes on with it instead of that spares the
// sum of its two gradients a pass.
struct Forked {
  Tensor stream, normed;
};
Forked fork_norm(const Tensor& x, const NormWeights& norm);

// The heads' queries, keys and values, [B, H, T, d] each, of tokens [B, T, D]: a map to 3 D channels, which are split into
// three, then heads. Its bias may be undefined. In mixed precision they are bfloat16.
std::vector<Tensor> project_heads(const Tensor& x, const LinearWeights& map, std::int64_t heads);

// x + factors (map y): x [B, T, D], y [B, T, in].
Tensor add_projected(const Tensor& x, const Tensor& y, const LinearWeights& map, const BranchFactors& factors);

// x + factors (out GELU(in norm(x))), the exact GELU (Hendrycks and Gimpel 2016, arXiv:1606.08415).
Tensor add_mlp(const Tensor& x, const NormWeights& norm, const LinearWeights& in, const LinearWeights& out,
               const BranchFactors& factors);

}  // namespace locus::engine::fused

// Manhattan distance on a grid as inner products, shared by the decays that fall with it.
#pragma once

#include "engine/layers/forms.h"
#include "engine/layers/layout.h"

namespace locus::engine {

// A code of +-1/2 with R = sum of (length - 1) digits, one for each boundary between neighbors of an axis:
// |p_i - p_j|_1 = R / 2 - 2 <code_i, code_j>. [N, R]
Tensor manhattan_code(const Layout& layout, at::TensorOptions options);

// slope[h] * |p_i - p_j|_1, and 0 where a prefix token is involved, as inner products of R (+ 1 with prefix
// tokens) features. slope: [H], negative for a decay.
LowRank manhattan_bias(const Layout& layout, const Tensor& slope);
// The same for 1/2 (gate_i + gate_j) in place of the slope; gate: [B, H, N]. 2 R + 1 (+ 1) features.
LowRank gated_manhattan_bias(const Layout& layout, const Tensor& gate);

// ln(1 - 2^(-initial - range n / heads)) for n = 0 .. heads - 1: the decays of RMT (Fan et al. 2024,
// arXiv:2309.11523, section 3.1), float64.
std::vector<double> manhattan_log_decays(std::int64_t heads, double initial, double range);

// Bias 0 for prefix tokens: zero rows in front of axis -2 of features [..., N, r].
Tensor behind_prefix(const Tensor& features, std::int64_t prefix);

}  // namespace locus::engine

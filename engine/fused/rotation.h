// Pairs of channels turned, as rotary embeddings do, over heads as they lie.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine::fused {

// x [B, H, T, d], d even, in pairs of channels: (2c, 2c + 1) if `neighbors`, else (c, c + d/2). cos and sin [.., T, d] are one for
// each channel and shared by heads and samples where they have fewer axes or one row of them: y = x cos + partner(x) sin.
struct PairTurns {
  Tensor cos, sin;
  bool neighbors;
};

// Whether the passes below may take x: on the CPU, float32 or float64 like the turns, or bfloat16 with turns of float32.
bool turns_rows(const Tensor& x, const PairTurns& turns);

// y [B, H, T, d] in x's type; computed in that of the turns.
Tensor turn_rows(const Tensor& x, const PairTurns& turns);

// Of dy, the gradient of y where sin is that of an angle a pair, negative in the first of its channels: that of x, and of the
// angles, [B, H, T, d/2], or [1, H, T, d/2] summed over the samples that share them. `x` undefined: not of the angles.
struct TurnGradients {
  Tensor x, angles;
};
TurnGradients turn_rows_back(const Tensor& dy, const Tensor& x, const PairTurns& turns);

}  // namespace locus::engine::fused

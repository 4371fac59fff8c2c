// Rotary embeddings' common part: pairs of channels turned by angles.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

inline constexpr double kTwoPi = 6.28318530717958647692;  // a full turn, radians

// cos and signed sin per channel, [..., T, d]: turned(x) = x cos + partner(x) sin.
struct Turns {
  Tensor cos, sin;
  Tensor angles;  // [..., T, d/2], where a gradient flows into them
};

// angles: [..., T, d/2], one for each pair. A pair is (2c, 2c + 1) if `neighbors`, else (c, c + d/2). cos and sin have no gradient,
// what is turned by them has.
Turns channel_turns(const Tensor& angles, bool neighbors);

// x [B, H, T, d] with its pairs turned (Su et al. 2021, arXiv:2104.09864, eq. 34), computed in the type of
// `turns` (float32 or better) and returned in x's. Differentiable once, in x and in the angles of the turns.
Tensor turned(const Tensor& x, const Turns& turns, bool neighbors);

}  // namespace locus::engine

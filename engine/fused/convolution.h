// A depth-wise convolution of tokens as they lie, channels side by side.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine::fused {

// tokens [B, prefix + rows columns, C], which fit (switch.h), weight [C, 1, side, side] with an odd side and bias [C] or
// undefined, of the same type -> the same shape: zero padding, stride 1, and for the tokens of the prefix 0, or themselves.
// Differentiable once; sums over tokens run in an order that depends on shapes alone.
struct ConvolvedGrid {
  std::int64_t prefix, rows, columns;
  bool keeps_prefix = false;
};
Tensor convolve_tokens(const Tensor& tokens, const Tensor& weight, const Tensor& bias, const ConvolvedGrid& grid);

}  // namespace locus::engine::fused

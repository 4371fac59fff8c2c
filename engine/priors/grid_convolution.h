// A depth-wise convolution over the grid of patches, shared by the priors that have one.
#pragma once

#include "engine/priors/prior.h"

namespace locus::engine {

// [..., T, C] tokens with the patches of `layout` (rank 2) -> [B, C, rows, columns]; prefix tokens are left
// out.
Tensor patches_as_image(const Tensor& tokens, const Layout& layout);
// [B, C, rows, columns] -> [B, T, C], zero for prefix tokens.
Tensor image_as_tokens(const Tensor& image, const Layout& layout);

// One side x side kernel a channel, zero padding, stride 1. Not thread-safe.
class GridConvolution : public Module {
 public:
  // Throws std::invalid_argument on an even side.
  GridConvolution(std::int64_t channels, std::int64_t side, bool with_bias = true);

  // tokens [B, T, C] -> same; prefix tokens get 0.
  Tensor forward(const Tensor& tokens, const Layout& layout) const;
  Tensor image_forward(const Tensor& image) const;  // [B, C, rows, columns] -> same
  // PyTorch's default: weight and bias uniform within 1 / side.
  void initialize(const Initializer& initializer);

  Tensor weight, bias;  // [C, 1, side, side], [C] or undefined
};

}  // namespace locus::engine

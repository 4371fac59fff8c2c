// A depth-wise convolution over the grid of patches.
#pragma once

#include "engine/layers/initializer.h"
#include "engine/layers/layout.h"
#include "engine/layers/module.h"

namespace locus::engine {

// [..., T, C] tokens with the patches of `layout` (rank 2) -> [B, C, rows, columns]; prefix tokens are left
// out.
Tensor patches_as_image(const Tensor& tokens, const Layout& layout);
// [B, C, rows, columns] -> [B, T, C], zero for prefix tokens.
Tensor image_as_tokens(const Tensor& image, const Layout& layout);

// One side x side kernel a channel, zero padding, stride 1. Not thread-safe.
class GridConvolution : public Module, public SelfStarting {
 public:
  // Throws std::invalid_argument on an even side.
  GridConvolution(std::int64_t channels, std::int64_t side, bool with_bias = true);

  // tokens [B, T, C] -> same; prefix tokens get 0.
  Tensor forward(const Tensor& tokens, const Layout& layout) const;
  // tokens + gate forward(tokens), gate [1] or undefined for 1: prefix tokens stay. One convolution where passes are fused,
  // whose middle tap counts the pixel itself too.
  Tensor add_to(const Tensor& tokens, const Layout& layout, const Tensor& gate = {}) const;
  Tensor image_forward(const Tensor& image) const;  // [B, C, rows, columns] -> same
  // PyTorch's default: weight and bias uniform within 1 / side.
  void start(const Initializer& own) override;
  // Of a grid of that many patches: a multiply-add counts as two.
  std::int64_t flops(std::int64_t patches) const { return 2 * patches * weight.numel(); }

  Tensor weight, bias;  // [C, 1, side, side], [C] or undefined

 private:
  bool fits(const Tensor& tokens) const;  // whether passes may be fused
};

}  // namespace locus::engine

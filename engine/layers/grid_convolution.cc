// The depth-wise convolution over patches.
#include "engine/layers/grid_convolution.h"

#include <ATen/ops/conv2d.h>

#include "engine/fused/convolution.h"
#include "engine/fused/switch.h"

namespace locus::engine {

Tensor patches_as_image(const Tensor& tokens, const Layout& layout) {
  const Tensor patches = tokens.slice(1, layout.prefix);
  return patches.transpose(1, 2).reshape({tokens.size(0), tokens.size(2), layout.extent.at(0), layout.extent.at(1)});
}

Tensor image_as_tokens(const Tensor& image, const Layout& layout) {
  const Tensor patches = image.flatten(2).transpose(1, 2);
  return layout.prefix == 0 ? patches : at::constant_pad_nd(patches, {0, 0, layout.prefix, 0});
}

GridConvolution::GridConvolution(std::int64_t channels, std::int64_t side, bool with_bias) {
  if (side % 2 == 0) {
    throw std::invalid_argument("a convolution over patches has an odd side, not " + std::to_string(side) +
                                ": an even one would shift the grid");
  }
  weight = register_parameter("weight", at::empty({channels, 1, side, side}));
  if (with_bias) bias = register_parameter("bias", at::empty({channels}));
}

Tensor GridConvolution::image_forward(const Tensor& image) const {
  const std::int64_t channels = weight.size(0), border = weight.size(2) / 2;
  const std::vector<std::int64_t> one = {1, 1}, padding = {border, border};
  return at::conv2d(image, weight, bias, one, padding, one, channels);
}

bool GridConvolution::fits(const Tensor& tokens) const {
  return tokens.dim() == 3 && fused::fits(tokens) && weight.scalar_type() == tokens.scalar_type();
}

Tensor GridConvolution::forward(const Tensor& tokens, const Layout& layout) const {
  if (fits(tokens))
    return fused::convolve_tokens(tokens, weight, bias, {layout.prefix, layout.extent.at(0), layout.extent.at(1)});
  return image_as_tokens(image_forward(patches_as_image(tokens, layout)), layout);
}

Tensor GridConvolution::add_to(const Tensor& tokens, const Layout& layout, const Tensor& gate) const {
  if (!fits(tokens)) {
    const Tensor branch = forward(tokens, layout);
    return tokens + (gate.defined() ? gate * branch : branch);
  }
  const std::int64_t side = weight.size(2), border = side / 2;
  const Tensor itself = at::constant_pad_nd(at::ones({1, 1}, weight.options()), {border, border, border, border});
  const bool gated = gate.defined();
  return fused::convolve_tokens(tokens, (gated ? weight * gate : weight) + itself,
                                gated && bias.defined() ? bias * gate : bias,
                                {layout.prefix, layout.extent.at(0), layout.extent.at(1), /*keeps_prefix=*/true});
}

void GridConvolution::start(const Initializer& own) {
  const double bound = 1 / static_cast<double>(weight.size(2));  // one over the root of the fan-in
  own.uniform(weight.detach(), "weight", -bound, bound);
  if (bias.defined()) own.uniform(bias.detach(), "bias", -bound, bound);
}

}  // namespace locus::engine

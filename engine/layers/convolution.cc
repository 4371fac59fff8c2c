// Convolutions over images.
#include "engine/layers/convolution.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>

#include <cmath>

namespace locus::engine {

Convolution::Convolution(std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t stride,
                         std::int64_t padding, bool with_bias)
    : stride_(stride), padding_(padding) {
  weight = register_parameter("weight", at::empty({out, in, side, side}));
  if (with_bias) bias = register_parameter("bias", at::empty({out}));
}

Tensor Convolution::forward(const Tensor& image) const {
  const std::vector<std::int64_t> stride = {stride_, stride_}, padding = {padding_, padding_};
  return at::conv2d(image, weight, bias, stride, padding);
}

void Convolution::start(const Initializer& own) {
  const double bound = 1 / std::sqrt(static_cast<double>(weight[0].numel()));
  own.uniform(weight.detach(), "weight", -bound, bound);
  if (bias.defined()) own.uniform(bias.detach(), "bias", -bound, bound);
}

Enlargement::Enlargement(std::int64_t in, std::int64_t out, std::int64_t factor) {
  weight = register_parameter("weight", at::empty({in, out, factor, factor}));
  bias = register_parameter("bias", at::empty({out}));
}

Tensor Enlargement::forward(const Tensor& image) const {
  const std::vector<std::int64_t> stride = {weight.size(2), weight.size(3)};
  return at::conv_transpose2d(image, weight, bias, stride);
}

void Enlargement::start(const Initializer& own) {
  const double bound = 1 / std::sqrt(static_cast<double>(weight[0].numel()));
  own.uniform(weight.detach(), "weight", -bound, bound);
  own.uniform(bias.detach(), "bias", -bound, bound);
}

}  // namespace locus::engine

// Convolutions over images.
#include "engine/layers/convolution.h"

#include <ATen/ops/conv2d.h>

#include <cmath>

namespace locus::engine {

Convolution::Convolution(std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t stride,
                         std::int64_t padding)
    : stride_(stride), padding_(padding) {
  weight = register_parameter("weight", at::empty({out, in, side, side}));
  bias = register_parameter("bias", at::empty({out}));
}

Tensor Convolution::forward(const Tensor& image) const {
  const std::vector<std::int64_t> stride = {stride_, stride_}, padding = {padding_, padding_};
  return at::conv2d(image, weight, bias, stride, padding);
}

void Convolution::start(const Initializer& own) {
  const double bound = 1 / std::sqrt(static_cast<double>(weight[0].numel()));
  own.uniform(weight.detach(), "weight", -bound, bound);
  own.uniform(bias.detach(), "bias", -bound, bound);
}

}  // namespace locus::engine

// Images as tensors: interleaved pixels to planes and back.
#include "engine/data/pixels.h"

#include <algorithm>

namespace locus::engine {

Tensor tensor_of(const Image& image) {
  Tensor out = at::empty({image.channels, image.height, image.width}, at::kByte);
  std::uint8_t* to = out.mutable_data_ptr<std::uint8_t>();
  const std::size_t plane = std::size_t{1} * image.height * image.width;
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) to[c * plane + i] = image.pixels[i * channels + c];
  }
  return out;
}

Image image_of(const Tensor& pixels) {
  if (pixels.dim() != 3 || pixels.scalar_type() != at::kByte || !pixels.is_cpu() ||
      (pixels.size(0) != 1 && pixels.size(0) != 3)) {
    throw std::invalid_argument("an image of 8-bit pixels has 1 or 3 channels, not the shape " +
                                c10::str(pixels.sizes()) + " of type " + c10::toString(pixels.scalar_type()));
  }
  const Tensor from = pixels.permute({1, 2, 0}).contiguous();
  Image out = Image::blank(static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(2)),
                           static_cast<int>(pixels.size(0)));
  std::copy_n(from.const_data_ptr<std::uint8_t>(), out.pixels.size(), out.pixels.begin());
  return out;
}

}  // namespace locus::engine

// Images as tensors: interleaved pixels to planes and back.
#include "engine/data/pixels.h"

#include <algorithm>

#include "engine/data/undecoded.h"
#include "engine/images/planes.h"

namespace locus::engine {

Tensor tensor_of(const Image& image) {
  Tensor out = at::empty({image.channels, image.height, image.width}, at::kByte);
  to_planes(image, out.mutable_data_ptr<std::uint8_t>());
  return out;
}

void check_image(const Tensor& pixels) {
  if (pixels.dim() != 3 || pixels.scalar_type() != at::kByte || !pixels.is_cpu() ||
      (pixels.size(0) != 1 && pixels.size(0) != 3)) {
    throw std::invalid_argument("an image of 8-bit pixels has 1 or 3 channels, not the shape " +
                                c10::str(pixels.sizes()) + " of type " + c10::toString(pixels.scalar_type()));
  }
}

Image image_of(const Tensor& pixels) {
  check_image(pixels);
  const Tensor from = pixels.permute({1, 2, 0}).contiguous();
  Image out = Image::blank(static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(2)),
                           static_cast<int>(pixels.size(0)));
  std::copy_n(from.const_data_ptr<std::uint8_t>(), out.pixels.size(), out.pixels.begin());
  return out;
}

TensorParts::TensorParts(Tensor pixels) : pixels_(std::move(pixels)) { check_image(pixels_); }

ImageSize TensorParts::size() const { return {static_cast<int>(pixels_.size(1)), static_cast<int>(pixels_.size(2))}; }

Image TensorParts::part(const Box& box) const {
  check_box(size(), box);
  return image_of(pixels_.slice(1, box.top, box.top + box.height).slice(2, box.left, box.left + box.width));
}

}  // namespace locus::engine

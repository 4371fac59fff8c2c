// ATen's antialiased kernels on bytes.
#include "engine/data/resize.h"

namespace locus::engine {

Tensor resized_antialias(const Tensor& image, const Extent& extent, std::string_view interpolation) {
  const bool bicubic = interpolation == "bicubic";
  if (!bicubic && interpolation != "bilinear")
    throw std::invalid_argument("no interpolation '" + std::string(interpolation) +
                                "' of tensors: bilinear or bicubic");
  if (image.dim() != 3 || image.scalar_type() != at::kByte || !image.is_cpu()) {
    throw std::invalid_argument("an image of bytes [C, H, W] on the CPU is resized, not the shape " +
                                c10::str(image.sizes()) + " of type " + c10::toString(image.scalar_type()));
  }
  if (extent[0] < 1 || extent[1] < 1) {
    throw std::invalid_argument("an image cannot be resized to " + std::to_string(extent[0]) + " x " +
                                std::to_string(extent[1]) + " pixels: both are at least 1");
  }
  if (image.size(1) == extent[0] && image.size(2) == extent[1]) return image;
  const Tensor batch = image.unsqueeze(0);
  const Tensor out = bicubic ? at::_upsample_bicubic2d_aa(batch, extent, /*align_corners=*/false)
                             : at::_upsample_bilinear2d_aa(batch, extent, /*align_corners=*/false);
  return out.squeeze(0).contiguous();
}

}  // namespace locus::engine

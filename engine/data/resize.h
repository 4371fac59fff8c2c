// torchvision's resizing of images that are tensors of bytes.
#pragma once

#include "engine/data/transform.h"

namespace locus::engine {

// Bytes uint8 [C, H, W] on the CPU at `extent` with antialiasing: the kernel widens where the image shrinks, bicubic has
// a = -0.5, each pass rounds to 8 bits; ATen's own arithmetic, within 1 or 2 of Pillow's (resize.h of engine/images). The
// tensor itself where it has that extent already, otherwise a new contiguous one. Throws std::invalid_argument on another
// interpolation than bilinear and bicubic, another type or shape, and extents below 1. Thread-safe.
Tensor resized_antialias(const Tensor& image, const Extent& extent, std::string_view interpolation);

}  // namespace locus::engine

// Operations on the values of 8-bit images as torchvision computes them on tensors (transforms.v2.functional, 0.26): float32
// where Pillow has integers, cut where it rounds. 3 channels are red, green, blue; on 1 channel saturation leaves the image
// as it is. A product and a sum are rounded one after the other, where a processor's fused ones may differ by 1. The result
// is always a new image. Thread-safe.
#pragma once

#include "engine/images/image.h"

namespace locus::engine::torchvision {

// Each mixes the image with another: factor image + (1 - factor) other.
Image brightness(const Image& image, double factor);  // with black
Image contrast(const Image& image, double factor);    // with the mean of its gray, 0.2989 R + 0.587 G + 0.114 B cut
Image saturation(const Image& image, double factor);  // with that gray
// With itself smoothed, as pillow::sharpness; border pixels, and images of fewer than 3 rows or columns, stay.
Image sharpness(const Image& image, double factor);

Image autocontrast(const Image& image);  // each channel spread over 0..255
Image equalize(const Image& image);      // each channel's histogram leveled; Pillow's numbers
Image invert(const Image& image);
Image solarize(const Image& image, double threshold);  // inverts values at or above it
Image posterize(const Image& image, int bits);         // keeps the high bits, 0..8 or more

}  // namespace locus::engine::torchvision

// Operations on the values of 8-bit images as Pillow computes them (ImageEnhance, ImageOps, versions 9.5 to 12, and hue
// as torchvision applies it to its images). 3 channels are red, green, blue. On 1 channel, gray, whatever needs colors
// leaves the image as it is. The result is always a new image. Thread-safe.
#pragma once

#include "engine/images/image.h"

namespace locus::engine::pillow {

// (19595 R + 38470 G + 7471 B + 2^15) / 2^16 cut to whole numbers, in all channels (ITU-R 601-2).
Image grayscale(const Image& image);

// Each mixes the image with another by a factor, 1 being the image itself and above 1 beyond it: other + factor (image -
// other) in float32, cut to 0..255 and to whole numbers.
Image brightness(const Image& image, double factor);  // with black
Image contrast(const Image& image, double factor);    // with its mean gray, rounded
Image saturation(const Image& image, double factor);  // with its grayscale ("Color" of RandAugment)
// With itself smoothed by [1 1 1; 1 5 1; 1 1 1] / 13; border pixels are not smoothed.
Image sharpness(const Image& image, double factor);

Image autocontrast(const Image& image);  // each channel spread over 0..255
Image equalize(const Image& image);      // each channel's histogram leveled
Image invert(const Image& image);
Image solarize(const Image& image, double threshold);  // inverts values at or above it
Image solarize_add(const Image& image, int amount);    // adds to values below 128, up to 255
// Keeps the `bits` high bits: 8 or more keep all, 0 or fewer none, which is black.
Image posterize(const Image& image, int bits);
// Turns the hue by `turn`, of whole turns -0.5..0.5, through 8-bit hue, saturation and value.
Image hue(const Image& image, double turn);

}  // namespace locus::engine::pillow

// Affine maps of 8-bit images as Pillow computes them (Image.transform and Image.rotate, versions 9.5 to 12), flips and
// borders. Of images with 1 or 3 channels; the result is always a new image. Thread-safe.
#pragma once

#include <array>
#include <span>

#include "engine/images/image.h"

namespace locus::engine {

// What is between pixels. Bicubic: Keys' kernel with a = -1, which is not the kernel of resizing (a = -0.5).
enum class Sampling { kNearest, kBilinear, kBicubic };

// {a, b, c, d, e, f}: the output's pixel (x, y) is the input's point (a (x + 1/2) + b (y + 1/2) + c,
// d (x + 1/2) + e (y + 1/2) + f), where a pixel's center is at its index plus 1/2.
using AffineMap = std::array<double, 6>;

// `image` under `map`, at its own extent. Points outside it take `fill`, a value for each channel; near the border the
// outermost pixels repeat. No antialiasing; values are cut to whole numbers, not rounded. Throws std::invalid_argument
// unless `fill` has as many values as the image has channels.
Image affine(const Image& image, const AffineMap& map, Sampling sampling, std::span<const std::uint8_t> fill);

inline AffineMap shear_x(double factor) { return {1, factor, 0, 0, 1, 0}; }
inline AffineMap shear_y(double factor) { return {1, 0, 0, factor, 1, 0}; }
// By pixels: positive numbers move the content to the left and upwards.
inline AffineMap translation(double columns, double rows) { return {1, 0, columns, 0, 1, rows}; }
// Counter-clockwise about the center, by degrees.
AffineMap rotation(double degrees, int height, int width);
// `image` under that map; by whole turns a copy, by quarter turns that fit its extent exact.
Image rotated(const Image& image, double degrees, Sampling sampling, std::span<const std::uint8_t> fill);

// Columns in reverse order.
Image flipped(const Image& image);

// `image` with `pixels` more rows and columns on each side, mirrored about the outermost pixel, which is not repeated. Throws
// std::invalid_argument if the image has not that many beside it.
Image reflect_padded(const Image& image, int pixels);

}  // namespace locus::engine

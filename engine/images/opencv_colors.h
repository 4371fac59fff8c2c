// Values of 8-bit RGB images as OpenCV and what is built on it change them (mmsegmentation's photometric distortion).
#pragma once

#include "engine/images/image.h"

namespace locus::engine::opencv {

// Hue 0..179 (half a degree each), saturation and value 0..255 of every pixel: cv::cvtColor to HSV in its whole numbers with
// 12 bits of fraction, to the byte. And back, in float32, cut to whole numbers where OpenCV rounds: within 1. Throw
// std::invalid_argument on other than 3 channels. Thread-safe.
Image hsv_of(const Image& rgb);
Image rgb_of(const Image& hsv);

// factor v + shift of every value in float32, cut to 0..255 and to whole numbers. Thread-safe.
Image linear(const Image& image, float factor, float shift);

}  // namespace locus::engine::opencv

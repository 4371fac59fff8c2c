// Resizing without antialiasing, as OpenCV does it to 8-bit images (cv::resize, versions 4 and 5): what lies between two
// pixels is made of these alone, however much the image shrinks. Only a window of the result is made. Everything throws
// std::invalid_argument on a size below 1, an image without pixels and a window that is not within `to`, and is thread-safe.
#pragma once

#include "engine/images/crop.h"

namespace locus::engine {

// INTER_LINEAR: pixel i of the result is at (i + 1/2) in / out - 1/2 of the source, border pixels repeat. In whole numbers,
// exact, a half rounded up; OpenCV's own fixed point differs by 1 here and there.
Image bilinear_window(const Image& from, const ImageSize& to, const Box& window);

// INTER_NEAREST: pixel i of the result is pixel floor(i (1 / (out / in))) of the source, in double precision.
Image nearest_window(const Image& from, const ImageSize& to, const Box& window);

}  // namespace locus::engine

// Images as files.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/images/image.h"

namespace locus::engine {

inline constexpr int kJpegQuality = 75;  // Pillow's, and so that of data sets it wrote

// Baseline JPEG, chroma at half the height and width (4:2:0); gray images have one component. Throws
// std::invalid_argument on an image without pixels, of other than 1 or 3 channels or larger than 65,500 a side, and on a
// quality outside 1..100. Thread-safe.
std::vector<std::byte> encode_jpeg(const Image& image, int quality = kJpegQuality);
// PNG of 8 bits, gray or RGB. Throws as the other. Thread-safe.
std::vector<std::byte> encode_png(const Image& image);

// What both refuse of an image.
void check_encodable(const Image& image);

}  // namespace locus::engine

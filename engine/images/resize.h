// Pillow's resize, to the byte (versions 9.5 to 12, Image.resize): the kernel widens where the image shrinks, the
// horizontal pass comes first, and each pass rounds to 8 bits. Everything is thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "engine/images/crop.h"

namespace locus::engine {

// The kernels: box, bilinear (triangle), hamming (windowed sinc of support 1), bicubic (Keys 1981, a = -0.5), lanczos
// (sinc of support 3). Nearest has none: each pixel is one of the source.
enum class Filter { kNearest, kBox, kBilinear, kHamming, kBicubic, kLanczos };

// Of "nearest", "box", "bilinear", "hamming", "bicubic" and "lanczos"; nothing for another name.
std::optional<Filter> filter_named(std::string_view name);

// The image at height x width. A pass that changes nothing is left out. Throws std::invalid_argument on a size below 1 and
// on an image without pixels.
Image resize(const Image& from, int height, int width, Filter filter);
// The same of crop(from, box), without the copy: no pixel outside the box takes part. Throws besides where the box is not
// within the image.
Image resize(const Image& from, const Box& box, int height, int width, Filter filter);
// The same bytes as crop(resize(from, to.height, to.width, filter), window), without the pixels beside the window. Throws
// besides where the window is not within `to`.
Image resize_window(const Image& from, const ImageSize& to, const Box& window, Filter filter);

// The taps of one pass, for tests and probes.
struct ResizeTaps {
  int first = 0;                // source index of the first weight
  std::vector<double> weights;  // sum 1
};
// Of output `index` of `from` -> `to` pixels. Throws std::invalid_argument on Filter::kNearest and on sizes below 1.
ResizeTaps resize_taps(int from, int to, int index, Filter filter);

}  // namespace locus::engine

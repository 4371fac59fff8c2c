// Images for tests: reproducible, with gradients, hard edges and noise.
#pragma once

#include <string>
#include <string_view>

#include "core/base/sha256.h"
#include "engine/images/image.h"

namespace locus::engine {

// The same as pattern() of testdata/pillow.py.
inline Image pattern(int height, int width, int channels) {
  Image out = Image::blank(height, width, channels);
  std::size_t at = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const std::int64_t noise =
            (std::int64_t{x} * 73856093 ^ std::int64_t{y} * 19349663 ^ std::int64_t{c} * 83492791) >> 5 & 63;
        const std::int64_t value = 7 * x + 13 * y + 29 * c + 5 * (x * y % 31) + noise;
        out.pixels[at++] = static_cast<std::uint8_t>((x / 9 + y / 7) % 2 ? value : 255 - value);
      }
    }
  }
  return out;
}

inline std::string digest_of(const Image& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
}

}  // namespace locus::engine

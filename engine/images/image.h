// An image in memory, as files hold them and as the operations on 8-bit pixels want it. This room knows no torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace locus::engine {

// Pixels interleaved (RGBRGB...), rows from the top. 1 channel is gray, 3 are red, green, blue.
struct Image {
  int height = 0, width = 0, channels = 3;
  std::vector<std::uint8_t> pixels = {};  // height * width * channels

  static Image blank(int height, int width, int channels) {  // black
    return {height, width, channels, std::vector<std::uint8_t>(std::size_t{1} * height * width * channels)};
  }
  std::uint8_t* row(int y) { return pixels.data() + std::size_t{1} * y * width * channels; }
  const std::uint8_t* row(int y) const { return pixels.data() + std::size_t{1} * y * width * channels; }
  bool operator==(const Image&) const = default;
};

}  // namespace locus::engine

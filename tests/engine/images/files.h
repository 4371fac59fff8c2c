// Files that the encoders do not write: kinds of PNG and JPEG, EXIF blocks, headers that lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/images/image.h"

namespace locus::engine {

inline constexpr int kPngGray = 0, kPngRgb = 2, kPngPalette = 3, kPngGrayAlpha = 4, kPngRgba = 6;  // color types

struct PngSettings {
  int height = 1, width = 1, bits = 8;
  int color = kPngRgb;
  bool interlaced = false;
  bool transparent = false;  // the color of the first pixel is said to be transparent
};

// `rows` as PNG holds them before filtering: packed bits, big-endian words. A palette has a color for each index.
std::vector<std::byte> png_file(const PngSettings& settings, std::span<const std::uint8_t> rows);

struct JpegSettings {
  int horizontal = 1, vertical = 1;  // sampling of the luma over the chroma's
  bool gray = false;
  bool progressive = false;
  bool separate = false;  // a scan for each component
  bool arithmetic = false;
  int restart = 0;  // blocks of all components between restart markers; 0: no markers
};

// An image of 3 channels, quality 90.
std::vector<std::byte> jpeg_file(const JpegSettings& settings, const Image& image);

// 16 x 16 pixels of one color, inks 0..255 written inverted with Adobe's marker, as CMYK or YCCK, quality 100.
std::vector<std::byte> jpeg_of_inks(const std::array<int, 4>& inks, bool ycck);

// Sampling factors, horizontal and vertical, of each component.
std::vector<int> jpeg_sampling(std::span<const std::byte> file);

// An EXIF block with that orientation after the first marker of a JPEG file.
std::vector<std::byte> with_orientation(std::span<const std::byte> jpeg, int orientation, bool little_endian);

// The size in the header changed, for PNG with a right check sum.
std::vector<std::byte> with_jpeg_size(std::vector<std::byte> jpeg, int height, int width);
std::vector<std::byte> with_png_size(std::vector<std::byte> png, std::uint32_t height, std::uint32_t width);

}  // namespace locus::engine

// Bilinear and nearest pixels.
#include "engine/images/plain_resize.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace locus::engine {
namespace {

void check_plain(const Image& from, const ImageSize& to, const Box& window) {
  if (to.height < 1 || to.width < 1) {
    throw std::invalid_argument("an image cannot be resized to " + std::to_string(to.height) + " x " +
                                std::to_string(to.width) + " pixels: both are at least 1");
  }
  check_box(from, {0, 0, from.height, from.width});
  check_box(to, window);
}

// A pixel between two: `after` parts of 2 out from pixel `second`, the rest from `first`.
struct Between {
  int first = 0, second = 0;
  std::int64_t after = 0;
};

std::vector<Between> places(int from, int to, int first, int count) {
  std::vector<Between> out;
  out.reserve(static_cast<std::size_t>(count));
  const std::int64_t whole = std::int64_t{2} * to;
  for (int i = first; i < first + count; ++i) {
    const std::int64_t at = (std::int64_t{2} * i + 1) * from - to;  // of 2 out parts a pixel
    const std::int64_t last = (from - 1) * whole, within = std::clamp<std::int64_t>(at, 0, last);
    const int pixel = static_cast<int>(within / whole);
    out.push_back({pixel, std::min(pixel + 1, from - 1), within % whole});
  }
  return out;
}

std::vector<int> nearest_places(int from, int to, int first, int count) {
  const double step = 1 / (static_cast<double>(to) / from);
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int i = first; i < first + count; ++i) out.push_back(std::min(static_cast<int>(std::floor(i * step)), from - 1));
  return out;
}

}  // namespace

Image bilinear_window(const Image& from, const ImageSize& to, const Box& window) {
  check_plain(from, to, window);
  const std::vector<Between> rows = places(from.height, to.height, window.top, window.height);
  const std::vector<Between> columns = places(from.width, to.width, window.left, window.width);
  const std::int64_t down = std::int64_t{2} * to.height, across = std::int64_t{2} * to.width, whole = down * across;
  Image out = Image::blank(window.height, window.width, from.channels);
  for (int y = 0; y < window.height; ++y) {
    const Between& row = rows[static_cast<std::size_t>(y)];
    const std::uint8_t *above = from.row(row.first), *below = from.row(row.second);
    std::uint8_t* pixel = out.row(y);
    for (const Between& column : columns) {
      for (int c = 0; c < from.channels; ++c) {
        const std::ptrdiff_t left = std::ptrdiff_t{1} * column.first * from.channels + c,
                             right = std::ptrdiff_t{1} * column.second * from.channels + c;
        const std::int64_t upper = (across - column.after) * above[left] + column.after * above[right],
                           lower = (across - column.after) * below[left] + column.after * below[right];
        *pixel++ =
            static_cast<std::uint8_t>((2 * ((down - row.after) * upper + row.after * lower) + whole) / (2 * whole));
      }
    }
  }
  return out;
}

Image nearest_window(const Image& from, const ImageSize& to, const Box& window) {
  check_plain(from, to, window);
  const std::vector<int> rows = nearest_places(from.height, to.height, window.top, window.height);
  const std::vector<int> columns = nearest_places(from.width, to.width, window.left, window.width);
  Image out = Image::blank(window.height, window.width, from.channels);
  for (int y = 0; y < window.height; ++y) {
    const std::uint8_t* row = from.row(rows[static_cast<std::size_t>(y)]);
    std::uint8_t* pixel = out.row(y);
    for (const int column : columns)
      pixel = std::copy_n(row + std::ptrdiff_t{1} * column * from.channels, from.channels, pixel);
  }
  return out;
}

}  // namespace locus::engine

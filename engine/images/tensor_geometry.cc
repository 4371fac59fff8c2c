// Nearest pixels under maps of coordinates that count from the center.
#include "engine/images/tensor_geometry.h"

#include <algorithm>
#include <cmath>

namespace locus::engine::torchvision {
namespace {

// The input's point of the output's point (x, y), both from the center: (xx x + xy y + x0, yx x + yy y + y0).
struct CenteredMap {
  double xx = 1, xy = 0, x0 = 0, yx = 0, yy = 1, y0 = 0;
};

Image nearest(const Image& image, const CenteredMap& map) {
  Image out = Image::blank(image.height, image.width, image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  const double center_x = (image.width - 1) / 2.0, center_y = (image.height - 1) / 2.0;
  for (int row = 0; row < out.height; ++row) {
    std::uint8_t* to = out.row(row);
    for (int column = 0; column < out.width; ++column, to += channels) {
      const double x = column - center_x, y = row - center_y;
      // Half to even, by the rounding mode that every thread starts with.
      const double from_x = std::nearbyint(map.xx * x + map.xy * y + map.x0 + center_x);
      const double from_y = std::nearbyint(map.yx * x + map.yy * y + map.y0 + center_y);
      if (from_x < 0 || from_x >= image.width || from_y < 0 || from_y >= image.height) continue;
      std::copy_n(image.row(static_cast<int>(from_y)) + static_cast<std::size_t>(from_x) * channels, channels, to);
    }
  }
  return out;
}

}  // namespace

Image shear_x(const Image& image, double factor) {
  return nearest(image, {.xy = factor, .x0 = factor * image.height / 2});
}
Image shear_y(const Image& image, double factor) {
  return nearest(image, {.yx = factor, .y0 = factor * image.width / 2});
}
Image translate_x(const Image& image, double pixels) { return nearest(image, {.x0 = -std::trunc(pixels)}); }
Image translate_y(const Image& image, double pixels) { return nearest(image, {.y0 = -std::trunc(pixels)}); }

Image rotate(const Image& image, double degrees) {
  const double angle = degrees * (3.14159265358979323846 / 180);
  const double cosine = std::cos(angle), sine = std::sin(angle);
  return nearest(image, {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine});
}

}  // namespace locus::engine::torchvision

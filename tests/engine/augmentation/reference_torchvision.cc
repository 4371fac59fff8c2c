// torchvision's operations on 8-bit tensors from their formulas.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/engine/augmentation/reference_operations.h"

namespace locus::engine::test {
namespace {

int cut(float value) { return static_cast<int>(std::min(std::max(value, 0.0f), 255.0f)); }

Image pointwise(const Image& image, const std::function<int(int)>& value) {
  return made(image, [&](int y, int x, int c) { return value(value_at(image, y, x, c)); });
}

float gray_at(const Image& image, int y, int x) {
  if (image.channels == 1) return static_cast<float>(value_at(image, y, x, 0));
  const float red = 0.2989f * static_cast<float>(value_at(image, y, x, 0));
  const float green = 0.587f * static_cast<float>(value_at(image, y, x, 1));
  const float blue = 0.114f * static_cast<float>(value_at(image, y, x, 2));
  return std::floor(red + green + blue);
}

int mixed(int own, float other, double factor) {
  return cut(static_cast<float>(own) * static_cast<float>(factor) + other * static_cast<float>(1 - factor));
}

Image contrast(const Image& image, double factor) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) sum += gray_at(image, y, x);
  }
  const auto mean = static_cast<float>(sum / (image.height * image.width));
  return pointwise(image, [&](int v) { return mixed(v, mean, factor); });
}

Image sharpness(const Image& image, double factor) {
  if (image.height < 3 || image.width < 3) return image;
  return made(image, [&](int y, int x, int c) {
    const int own = value_at(image, y, x, c);
    if (y == 0 || x == 0 || y == image.height - 1 || x == image.width - 1) return own;
    int sum = 4 * own;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) sum += value_at(image, y + dy, x + dx, c);
    }
    const auto smooth = static_cast<float>(std::nearbyint(sum / 13.0));
    return cut(static_cast<float>(own) + static_cast<float>(1 - factor) * (smooth - static_cast<float>(own)));
  });
}

Image autocontrast(const Image& image) {
  std::vector<int> low(static_cast<std::size_t>(image.channels), 255), high(low.size(), 0);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const std::size_t c = i % low.size();
    low[c] = std::min<int>(low[c], image.pixels[i]);
    high[c] = std::max<int>(high[c], image.pixels[i]);
  }
  return made(image, [&](int y, int x, int channel) {
    const auto c = static_cast<std::size_t>(channel);
    const int v = value_at(image, y, x, channel);
    if (low[c] == high[c]) return v;
    const float scale = static_cast<float>(high[c] - low[c]) * static_cast<float>(1.0 / 255.0);
    return cut(static_cast<float>(v - low[c]) / scale);
  });
}

// `source` maps coordinates from the center.
using Point = std::array<double, 2>;
Image moved(const Image& image, const std::function<Point(double x, double y)>& source) {
  const double middle_x = (image.width - 1) / 2.0, middle_y = (image.height - 1) / 2.0;
  return made(image, [&](int y, int x, int c) {
    const Point from = source(x - middle_x, y - middle_y);
    const double column = std::nearbyint(from[0] + middle_x), row = std::nearbyint(from[1] + middle_y);
    if (column < 0 || row < 0 || column > image.width - 1 || row > image.height - 1) return 0;
    return value_at(image, static_cast<int>(row), static_cast<int>(column), c);
  });
}

Image rotate(const Image& image, double degrees) {
  const double m = degrees * std::numbers::pi / 180;
  return moved(image, [&](double x, double y) {
    return Point{x * std::cos(m) - y * std::sin(m), x * std::sin(m) + y * std::cos(m)};
  });
}

}  // namespace

const std::map<std::string, ReferenceOperation, std::less<>>& reference_torchvision() {
  using I = const Image&;
  using C = const Canvas&;
  static const std::map<std::string, ReferenceOperation, std::less<>> all = {
      {"autocontrast", [](I i, double, C) { return autocontrast(i); }},
      {"brightness",
       [](I i, double f, C) {
         return pointwise(i, [&](int v) { return cut(static_cast<float>(v) * static_cast<float>(f)); });
       }},
      {"contrast", [](I i, double f, C) { return contrast(i, f); }},
      {"equalize", [](I i, double a, C c) { return reference_pillow().at("equalize")(i, a, c); }},
      {"identity", [](I i, double, C) { return i; }},
      {"invert", [](I i, double, C) { return pointwise(i, [](int v) { return 255 - v; }); }},
      {"posterize",
       [](I i, double bits, C) {
         const int step = 1 << (8 - static_cast<int>(bits));
         return pointwise(i, [&](int v) { return v - v % step; });
       }},
      {"rotate", [](I i, double degrees, C) { return rotate(i, degrees); }},
      {"saturation",
       [](I i, double f, C) {
         if (i.channels == 1) return i;
         return made(i, [&](int y, int x, int c) { return mixed(value_at(i, y, x, c), gray_at(i, y, x), f); });
       }},
      {"sharpness", [](I i, double f, C) { return sharpness(i, f); }},
      {"shear-x",
       [](I i, double m, C) {
         return moved(i, [&](double x, double y) { return Point{x + m * (y + i.height / 2.0), y}; });
       }},
      {"shear-y",
       [](I i, double m, C) {
         return moved(i, [&](double x, double y) { return Point{x, y + m * (x + i.width / 2.0)}; });
       }},
      {"solarize",
       [](I i, double t, C) {
         return pointwise(i, [&](int v) { return static_cast<float>(v) >= static_cast<float>(t) ? 255 - v : v; });
       }},
      {"translate-x",
       [](I i, double m, C) { return moved(i, [&](double x, double y) {
                                return Point{x - std::trunc(m), y};
                              }); }},
      {"translate-y",
       [](I i, double m, C) { return moved(i, [&](double x, double y) {
                                return Point{x, y - std::trunc(m)};
                              }); }},
  };
  return all;
}

}  // namespace locus::engine::test

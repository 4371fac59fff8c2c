// Pillow's operations from their formulas.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "tests/engine/augmentation/reference_operations.h"

namespace locus::engine::test {

int value_at(const Image& image, int y, int x, int c) {
  const int row = std::clamp(y, 0, image.height - 1), column = std::clamp(x, 0, image.width - 1);
  return image.pixels[static_cast<std::size_t>((row * image.width + column) * image.channels + c)];
}

Image made(const Image& like, const std::function<int(int y, int x, int c)>& value) {
  Image out = Image::blank(like.height, like.width, like.channels);
  std::size_t at = 0;
  for (int y = 0; y < like.height; ++y) {
    for (int x = 0; x < like.width; ++x) {
      for (int c = 0; c < like.channels; ++c) out.pixels[at++] = static_cast<std::uint8_t>(value(y, x, c));
    }
  }
  return out;
}

namespace {

Image pointwise(const Image& image, const std::function<int(int)>& value) {
  return made(image, [&](int y, int x, int c) { return value(value_at(image, y, x, c)); });
}

int gray_at(const Image& image, int y, int x) {
  if (image.channels == 1) return value_at(image, y, x, 0);
  const int sum = 19595 * value_at(image, y, x, 0) + 38470 * value_at(image, y, x, 1) + 7471 * value_at(image, y, x, 2);
  return (sum + 32768) / 65536;
}

Image gray(const Image& image) {
  return made(image, [&](int y, int x, int) { return gray_at(image, y, x); });
}

Image blend(const Image& other, const Image& image, double factor) {
  const auto f = static_cast<float>(factor);
  if (f == 0) return other;
  if (f == 1) return image;
  return made(image, [&](int y, int x, int c) {
    const int from = value_at(other, y, x, c);
    const float value = static_cast<float>(from) + f * static_cast<float>(value_at(image, y, x, c) - from);
    return static_cast<int>(std::min(std::max(value, 0.0f), 255.0f));
  });
}

Image contrast(const Image& image, double factor) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) sum += gray_at(image, y, x);
  }
  const int mean = static_cast<int>(sum / (image.height * image.width) + 0.5);
  return blend(pointwise(image, [&](int) { return mean; }), image, factor);
}

Image sharpness(const Image& image, double factor) {
  const Image smooth = made(image, [&](int y, int x, int c) {
    if (y == 0 || x == 0 || y == image.height - 1 || x == image.width - 1) return value_at(image, y, x, c);
    double sum = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) sum += (dy == 0 && dx == 0 ? 5 : 1) * value_at(image, y + dy, x + dx, c);
    }
    return static_cast<int>(std::floor(sum / 13 + 0.5));
  });
  return blend(smooth, image, factor);
}

std::vector<std::int64_t> counts(const Image& image, int channel) {
  std::vector<std::int64_t> out(256);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) ++out[static_cast<std::size_t>(value_at(image, y, x, channel))];
  }
  return out;
}

Image autocontrast(const Image& image) {
  return made(image, [&](int y, int x, int c) {
    const auto h = counts(image, c);
    int low = 0, high = 255;
    while (h[static_cast<std::size_t>(low)] == 0) ++low;
    while (h[static_cast<std::size_t>(high)] == 0) --high;
    const int v = value_at(image, y, x, c);
    if (high <= low) return v;
    const double scale = 255.0 / (high - low);
    return std::clamp(static_cast<int>(v * scale - low * scale), 0, 255);
  });
}

Image equalize(const Image& image) {
  return made(image, [&](int y, int x, int c) {
    const auto h = counts(image, c);
    const int v = value_at(image, y, x, c);
    std::int64_t total = 0, last = 0, used = 0, below = 0;
    for (int i = 0; i < 256; ++i) {
      const std::int64_t count = h[static_cast<std::size_t>(i)];
      total += count;
      if (count > 0) last = count, ++used;
      if (i < v) below += count;
    }
    const std::int64_t step = (total - last) / 255;
    if (step == 0 || used < 2) return v;
    return static_cast<int>(std::min<std::int64_t>((step / 2 + below) / step, 255));
  });
}

Image hue(const Image& image, double turn) {
  if (image.channels == 1) return image;
  return made(image, [&](int y, int x, int c) {
    const int rgb[3] = {value_at(image, y, x, 0), value_at(image, y, x, 1), value_at(image, y, x, 2)};
    const int v = *std::max_element(rgb, rgb + 3), least = *std::min_element(rgb, rgb + 3);
    if (v == least) return v;
    const auto spread = static_cast<float>(v - least);
    float away[3];
    for (int k = 0; k < 3; ++k) away[k] = static_cast<float>(v - rgb[k]) / spread;
    const int largest = v == rgb[0] ? 0 : v == rgb[1] ? 1 : 2;  // h: 2 k + (the channel two on) - (the one after)
    const double h = static_cast<float>(2.0 * largest + away[(largest + 2) % 3] - away[(largest + 1) % 3]);
    const double fraction = static_cast<float>(std::fmod(h / 6 + 1, 1.0));
    const int turned =
        ((static_cast<int>(255 * fraction) + static_cast<int>(std::trunc(255 * turn))) % 256 + 256) % 256;
    const int saturation = static_cast<int>(255.0 * (spread / static_cast<float>(v)));
    if (saturation == 0) return v;
    const double s = static_cast<float>(saturation / 255.0), sixths = 6 * turned / 255.0,
                 f = sixths - std::floor(sixths);
    const int p = static_cast<int>(std::lround(v * (1 - s))), q = static_cast<int>(std::lround(v * (1 - s * f))),
              t = static_cast<int>(std::lround(v * (1 - s * (1 - f))));
    const int table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
    return table[static_cast<int>(sixths) % 6][c];
  });
}

// One box along x or y.
Image boxed(const Image& image, float radius, int dx, int dy) {
  const int whole = static_cast<int>(radius);
  const auto inner = static_cast<std::int64_t>(16777216.0f / (2 * radius + 1));
  const std::int64_t edge = (16777216 - (2 * whole + 1) * inner) / 2;
  return made(image, [&](int y, int x, int c) {
    std::int64_t sum = 8388608;
    for (int i = -whole - 1; i <= whole + 1; ++i) {
      sum += (std::abs(i) <= whole ? inner : edge) * value_at(image, y + i * dy, x + i * dx, c);
    }
    return static_cast<int>(sum / 16777216);
  });
}

Image gaussian_blur(const Image& image, double sigma) {
  if (sigma == 0) return image;
  const auto own = static_cast<float>(sigma);
  const float third = own * own / 3;  // the variance of one box
  const auto l = std::floor((static_cast<float>(std::sqrt(12.0 * third + 1)) - 1) / 2);
  const float radius = l + (2 * l + 1) * (l * (l + 1) - 3 * third) / (6 * (third - (l + 1) * (l + 1)));
  Image out = image;
  for (int i = 0; i < 3; ++i) out = boxed(out, radius, 1, 0);
  for (int i = 0; i < 3; ++i) out = boxed(out, radius, 0, 1);
  return out;
}

// Weights of Keys' kernel with a = -1 at -1, 0, 1, 2 of a point at t, or of the triangle.
std::array<double, 4> weights(double t, Sampling sampling) {
  if (sampling == Sampling::kBilinear) return {0, 1 - t, t, 0};
  const auto far = [](double x) { return -(x * x * x - 5 * x * x + 8 * x - 4); };  // 1 <= x <= 2
  const auto near = [](double x) { return x * x * x - 2 * x * x + 1; };            // 0 <= x <= 1
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

// At the point (x, y) of the input. Differences from the nearest value are weighed: of a plain area nothing is rounded.
int sampled(const Image& image, double x, double y, int c, const Canvas& canvas) {
  if (x < 0 || x >= image.width || y < 0 || y >= image.height) return canvas.fill[static_cast<std::size_t>(c)];
  if (canvas.sampling == Sampling::kNearest) return value_at(image, static_cast<int>(y), static_cast<int>(x), c);
  const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
  const auto across = weights(x - 0.5 - left, canvas.sampling), down = weights(y - 0.5 - top, canvas.sampling);
  const int middle = value_at(image, static_cast<int>(top), static_cast<int>(left), c);
  double sum = 0;
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 4; ++i) {
      const int v = value_at(image, static_cast<int>(top) - 1 + j, static_cast<int>(left) - 1 + i, c);
      sum += across[static_cast<std::size_t>(i)] * down[static_cast<std::size_t>(j)] * (v - middle);
    }
  }
  // A whole number may come out a little below itself.
  return static_cast<int>(std::clamp(middle + sum + 1e-9, 0.0, 255.0));
}

using Point = std::array<double, 2>;
Image moved(const Image& image, const Canvas& canvas, const std::function<Point(double x, double y)>& source) {
  return made(image, [&](int y, int x, int c) {
    const Point from = source(x + 0.5, y + 0.5);
    return sampled(image, from[0], from[1], c, canvas);
  });
}

Image rotate(const Image& image, double degrees, const Canvas& canvas) {
  const double angle = (degrees < 0 ? degrees + 360 : degrees) * (std::numbers::pi / 180);
  const auto rounded = [](double value) {  // to 15 decimals
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.15f", value);
    return std::strtod(digits, nullptr);
  };
  const double cosine = rounded(std::cos(angle)), sine = rounded(std::sin(angle));
  // The sums in Pillow's order: truncation shows their last bits.
  const double middle_x = image.width / 2.0, middle_y = image.height / 2.0;
  const double left = cosine * -middle_x - sine * -middle_y + middle_x;
  const double top = sine * -middle_x + cosine * -middle_y + middle_y;
  return moved(image, canvas, [&](double x, double y) {
    return Point{cosine * x - sine * y + left, sine * x + cosine * y + top};
  });
}

}  // namespace

const std::map<std::string, ReferenceOperation, std::less<>>& reference_pillow() {
  using I = const Image&;
  using C = const Canvas&;
  static const std::map<std::string, ReferenceOperation, std::less<>> all = {
      {"autocontrast", [](I i, double, C) { return autocontrast(i); }},
      {"brightness", [](I i, double f, C) { return blend(pointwise(i, [](int) { return 0; }), i, f); }},
      {"contrast", [](I i, double f, C) { return contrast(i, f); }},
      {"equalize", [](I i, double, C) { return equalize(i); }},
      {"flip",
       [](I i, double, C) { return made(i, [&](int y, int x, int c) { return value_at(i, y, i.width - 1 - x, c); }); }},
      {"gaussian-blur", [](I i, double sigma, C) { return gaussian_blur(i, sigma); }},
      {"grayscale", [](I i, double, C) { return gray(i); }},
      {"hue", [](I i, double turn, C) { return hue(i, turn); }},
      {"invert", [](I i, double, C) { return pointwise(i, [](int v) { return 255 - v; }); }},
      {"posterize",
       [](I i, double bits, C) {
         const int step = 1 << std::clamp(8 - static_cast<int>(bits), 0, 8);
         return pointwise(i, [&](int v) { return v / step * step; });
       }},
      {"rotate", [](I i, double degrees, C c) { return rotate(i, degrees, c); }},
      {"saturation", [](I i, double f, C) { return i.channels == 1 ? i : blend(gray(i), i, f); }},
      {"sharpness", [](I i, double f, C) { return sharpness(i, f); }},
      {"shear-x",
       [](I i, double f, C c) { return moved(i, c, [&](double x, double y) {
                                  return Point{x + f * y, y};
                                }); }},
      {"shear-y",
       [](I i, double f, C c) { return moved(i, c, [&](double x, double y) {
                                  return Point{x, y + f * x};
                                }); }},
      {"solarize", [](I i, double t, C) { return pointwise(i, [&](int v) { return v < t ? v : 255 - v; }); }},
      {"solarize-add",
       [](I i, double a, C) {
         return pointwise(i, [&](int v) { return v < 128 ? std::min(255, v + static_cast<int>(a)) : v; });
       }},
      {"translate-x",
       [](I i, double p, C c) { return moved(i, c, [&](double x, double y) {
                                  return Point{x + p, y};
                                }); }},
      {"translate-y",
       [](I i, double p, C c) { return moved(i, c, [&](double x, double y) {
                                  return Point{x, y + p};
                                }); }},
  };
  return all;
}

}  // namespace locus::engine::test

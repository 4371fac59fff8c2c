// The hexcone model in whole numbers.
#include "engine/images/opencv_colors.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/images/histogram.h"

namespace locus::engine::opencv {
namespace {

constexpr int kFraction = 12;  // bits
constexpr int kHues = 180;

void check_channels(const Image& image) {
  if (image.channels != 3)
    throw std::invalid_argument("hue is of images of 3 channels, not of " + std::to_string(image.channels));
}

// numerator / divisor with the fraction's bits, rounded half to even.
int shared(double numerator, int divisor) {
  return divisor == 0 ? 0 : static_cast<int>(std::nearbyint(numerator * (1 << kFraction) / divisor));
}

int without_fraction(int value) { return (value + (1 << (kFraction - 1))) >> kFraction; }

std::uint8_t cut_to_byte(float value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

}  // namespace

Image hsv_of(const Image& rgb) {
  check_channels(rgb);
  Image out = rgb;
  for (std::size_t i = 0; i < out.pixels.size(); i += 3) {
    const int r = rgb.pixels[i], g = rgb.pixels[i + 1], b = rgb.pixels[i + 2];
    const int value = std::max({r, g, b}), spread = value - std::min({r, g, b});
    int sixths = r - g + 4 * spread;  // of a turn, times the spread
    if (value == g) sixths = b - r + 2 * spread;
    if (value == r) sixths = g - b;
    const int hue = without_fraction(sixths * shared(kHues / 6.0, spread));
    out.pixels[i] = static_cast<std::uint8_t>(hue < 0 ? hue + kHues : hue);
    out.pixels[i + 1] = static_cast<std::uint8_t>(without_fraction(spread * shared(255.0, value)));
    out.pixels[i + 2] = static_cast<std::uint8_t>(value);
  }
  return out;
}

Image rgb_of(const Image& hsv) {
  check_channels(hsv);
  Image out = hsv;
  for (std::size_t i = 0; i < out.pixels.size(); i += 3) {
    const float turn = static_cast<float>(hsv.pixels[i]) * 6.0f / static_cast<float>(kHues);
    const float saturation = static_cast<float>(hsv.pixels[i + 1]) / 255.0f,
                value = static_cast<float>(hsv.pixels[i + 2]);
    const float sextant = std::floor(turn), within = turn - sextant;
    const std::uint8_t v = hsv.pixels[i + 2], p = cut_to_byte(value * (1.0f - saturation)),
                       q = cut_to_byte(value * (1.0f - saturation * within)),
                       t = cut_to_byte(value * (1.0f - saturation * (1.0f - within)));
    const std::uint8_t sextants[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
    std::copy_n(sextants[static_cast<std::size_t>(sextant) % 6], 3,
                out.pixels.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

Image linear(const Image& image, float factor, float shift) {
  return mapped(image, [&](int value) {
    const float scaled = static_cast<float>(value) * factor;
    return cut_to_byte(scaled + shift);
  });
}

}  // namespace locus::engine::opencv

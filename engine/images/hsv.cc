// The hexcone model of Smith (SIGGRAPH 1978) in Pillow's mix of float32 and double.
#include "engine/images/hsv.h"

#include <algorithm>
#include <cmath>

namespace locus::engine::pillow {

Pixel hsv_of(const Pixel& rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int most = std::max({r, g, b}), least = std::min({r, g, b});
  const auto value = static_cast<std::uint8_t>(most);
  if (most == least) return {0, 0, value};
  const auto spread = static_cast<float>(most - least);
  const float saturation = spread / static_cast<float>(most);
  const float from_r = static_cast<float>(most - r) / spread, from_g = static_cast<float>(most - g) / spread,
              from_b = static_cast<float>(most - b) / spread;
  float sextant = 0;
  if (r == most) {
    sextant = from_b - from_g;
  } else if (g == most) {
    sextant = static_cast<float>(2.0 + from_r - from_b);
  } else {
    sextant = static_cast<float>(4.0 + from_g - from_r);
  }
  const auto turn = static_cast<float>(std::fmod(sextant / 6.0 + 1.0, 1.0));
  return {static_cast<std::uint8_t>(turn * 255.0), static_cast<std::uint8_t>(saturation * 255.0), value};
}

Pixel rgb_of(const Pixel& hsv) {
  const std::uint8_t value = hsv[2];
  if (hsv[1] == 0) return {value, value, value};
  const double sixths = static_cast<float>(hsv[0]) * 6.0 / 255.0;
  const int sextant = static_cast<int>(std::floor(sixths));
  const auto within = static_cast<float>(sixths - static_cast<float>(sextant));
  const auto saturation = static_cast<float>(static_cast<float>(hsv[1]) / 255.0);
  const auto scaled = [&](double factor) {
    return static_cast<std::uint8_t>(std::clamp(std::round(value * factor), 0.0, 255.0));
  };
  const std::uint8_t p = scaled(1.0 - saturation);
  const std::uint8_t q = scaled(1.0 - saturation * within);
  const std::uint8_t t = scaled(1.0 - saturation * (1.0 - within));
  switch (sextant % 6) {
    case 0:
      return {value, t, p};
    case 1:
      return {q, value, p};
    case 2:
      return {p, value, t};
    case 3:
      return {p, q, value};
    case 4:
      return {t, p, value};
    default:
      return {value, p, q};
  }
}

}  // namespace locus::engine::pillow

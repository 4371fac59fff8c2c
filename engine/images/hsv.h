// Single pixels between red, green, blue and 8-bit hue, saturation, value, with Pillow's arithmetic.
#pragma once

#include <array>
#include <cstdint>

namespace locus::engine::pillow {

using Pixel = std::array<std::uint8_t, 3>;

// Hue: a whole turn is 255. Thread-safe.
Pixel hsv_of(const Pixel& rgb);
Pixel rgb_of(const Pixel& hsv);

}  // namespace locus::engine::pillow

// Colors of classes in pictures.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/json.h"

namespace locus::engine {

// Red, green, blue of class 0, 1, ...: those of Pascal VOC's palette from its first object on, where the bits of the number are
// dealt to the channels in turn, the lowest to the highest bit. Different for 255 classes. Thread-safe.
inline std::array<std::uint8_t, 3> class_color(int index) {
  std::array<std::uint8_t, 3> out{};
  int rest = index + 1;
  for (int bit = 7; bit >= 0 && rest > 0; --bit, rest >>= 3) {
    for (int channel = 0; channel < 3; ++channel) {
      const int value = (rest >> channel & 1) << bit;
      out[static_cast<std::size_t>(channel)] =
          static_cast<std::uint8_t>(out[static_cast<std::size_t>(channel)] | value);
    }
  }
  return out;
}

// "#800000" for each class: the fact `palette`.
inline Json palette_of(int classes) {
  constexpr char kDigits[] = "0123456789abcdef";
  Json out = Json::array();
  for (int index = 0; index < classes; ++index) {
    std::string text = "#";
    for (const std::uint8_t value : class_color(index)) text += {kDigits[value >> 4], kDigits[value & 15]};
    out.push_back(text);
  }
  return out;
}

}  // namespace locus::engine

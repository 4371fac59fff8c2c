// Tables of values, histograms, and what Pillow and torchvision compute alike from them.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "engine/images/image.h"

namespace locus::engine {

using Table = std::array<std::uint8_t, 256>;  // the new value of each old one
using Histogram = std::array<std::int64_t, 256>;

Table identity_table();
// Channel c through tables[c]. Thread-safe, as all below.
Image mapped_by_channel(const Image& image, std::span<const Table> tables);
// All channels through `value`, a function of 0..255.
template <typename Value>
Image mapped(const Image& image, const Value& value) {
  Table table;
  for (int v = 0; v < 256; ++v) table[static_cast<std::size_t>(v)] = value(v);
  Image out = image;
  for (std::uint8_t& pixel : out.pixels) pixel = table[pixel];
  return out;
}

std::vector<Histogram> histograms(const Image& image);  // of each channel
// The lowest and the highest value that occur; of an empty image 0 and 0.
std::pair<int, int> used_range(const Histogram& histogram);

// Each channel's histogram leveled: v becomes (step / 2 + pixels below v) / step, at most 255, where step is a 255th of the
// pixels without those of the highest value, all divisions cut to whole numbers. Unchanged where step is 0.
Image leveled(const Image& image);

// Pixels but those of the border smoothed by [1 1 1; 1 5 1; 1 1 1] / 13, rounded. No sum lies between two numbers.
Image smoothed(const Image& image);

}  // namespace locus::engine

// Tables, histograms and the 3 x 3 smoothing.
#include "engine/images/histogram.h"

#include <algorithm>

namespace locus::engine {

Table identity_table() {
  Table out;
  for (std::size_t v = 0; v < out.size(); ++v) out[v] = static_cast<std::uint8_t>(v);
  return out;
}

Image mapped_by_channel(const Image& image, std::span<const Table> tables) {
  Image out = image;
  const std::size_t channels = tables.size();
  for (std::size_t i = 0; i < out.pixels.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) out.pixels[i + c] = tables[c][out.pixels[i + c]];
  }
  return out;
}

std::vector<Histogram> histograms(const Image& image) {
  const auto channels = static_cast<std::size_t>(image.channels);
  std::vector<Histogram> out(channels, Histogram{});
  for (std::size_t i = 0; i < image.pixels.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) ++out[c][image.pixels[i + c]];
  }
  return out;
}

std::pair<int, int> used_range(const Histogram& histogram) {
  int lowest = 0, highest = 255;
  while (lowest < 255 && histogram[static_cast<std::size_t>(lowest)] == 0) ++lowest;
  while (highest > 0 && histogram[static_cast<std::size_t>(highest)] == 0) --highest;
  return lowest <= highest ? std::pair(lowest, highest) : std::pair(0, 0);
}

Image leveled(const Image& image) {
  std::vector<Table> tables;
  const std::int64_t pixels = std::int64_t{image.height} * image.width;
  for (const Histogram& histogram : histograms(image)) {
    const int highest = used_range(histogram).second;
    const std::int64_t step = (pixels - histogram[static_cast<std::size_t>(highest)]) / 255;
    Table table = identity_table();
    std::int64_t sum = step / 2;
    for (std::size_t v = 0; step > 0 && v < table.size(); ++v) {
      table[v] = static_cast<std::uint8_t>(std::min<std::int64_t>(sum / step, 255));
      sum += histogram[v];
    }
    tables.push_back(table);
  }
  return mapped_by_channel(image, tables);
}

Image smoothed(const Image& image) {
  Image out = image;
  const int channels = image.channels;
  for (int y = 1; y + 1 < image.height; ++y) {
    const std::uint8_t *above = image.row(y - 1), *own = image.row(y), *below = image.row(y + 1);
    std::uint8_t* to = out.row(y);
    for (int i = channels; i < (image.width - 1) * channels; ++i) {
      int sum = 4 * own[i];
      for (const std::uint8_t* row : {above, own, below}) sum += row[i - channels] + row[i] + row[i + channels];
      to[i] = static_cast<std::uint8_t>((2 * sum + 13) / 26);
    }
  }
  return out;
}

}  // namespace locus::engine

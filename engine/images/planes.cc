// Interleaved pixels to planes.
#include "engine/images/planes.h"

#include "engine/images/by_processor.h"

namespace locus::engine {
namespace {

LOCUS_BY_PROCESSOR
void split(const std::uint8_t* __restrict rgb, std::size_t pixels, std::uint8_t* __restrict red,
           std::uint8_t* __restrict green, std::uint8_t* __restrict blue) {
  for (std::size_t i = 0; i < pixels; ++i) {
    red[i] = rgb[3 * i];
    green[i] = rgb[3 * i + 1];
    blue[i] = rgb[3 * i + 2];
  }
}

}  // namespace

void to_planes(const Image& image, std::uint8_t* planes) {
  const std::size_t plane = std::size_t{1} * image.height * image.width;
  const auto channels = static_cast<std::size_t>(image.channels);
  if (channels == 3) return split(image.pixels.data(), plane, planes, planes + plane, planes + 2 * plane);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) planes[c * plane + i] = image.pixels[i * channels + c];
  }
}

}  // namespace locus::engine

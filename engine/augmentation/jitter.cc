// Color jitter.
#include "engine/augmentation/jitter.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/augmentation/draw.h"
#include "engine/images/colors.h"

namespace locus::engine {
namespace {

double factor(const SampleDraws& draws, std::string_view name, double change) {
  return uniform_of(draws.unit(name), std::max(0.0, 1 - change), 1 + change);
}

}  // namespace

Image jittered(Image image, const Jitter& jitter, const SampleDraws& draws) {
  std::array<std::size_t, 4> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<double> keys = draws.units("jitter.order", order.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  for (const std::size_t property : order) {
    if (property == 0 && jitter.brightness > 0) {
      image = pillow::brightness(image, factor(draws, "jitter.brightness", jitter.brightness));
    } else if (property == 1 && jitter.contrast > 0) {
      image = pillow::contrast(image, factor(draws, "jitter.contrast", jitter.contrast));
    } else if (property == 2 && jitter.saturation > 0) {
      image = pillow::saturation(image, factor(draws, "jitter.saturation", jitter.saturation));
    } else if (property == 3 && jitter.hue > 0) {
      image = pillow::hue(image, uniform_of(draws.unit("jitter.hue"), -jitter.hue, jitter.hue));
    }
  }
  return image;
}

}  // namespace locus::engine

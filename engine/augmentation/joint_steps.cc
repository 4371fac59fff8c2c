// Scales and windows.
#include "engine/augmentation/joint_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/augmentation/draw.h"
#include "engine/base/failure.h"
#include "engine/images/plain_resize.h"

namespace locus::engine {
namespace {

constexpr double kSideMost = 1 << 20;  // pixels of a side that a sample is scaled to; keeps sizes within int

Box drawn_window(const ImageSize& size, const Extent& extent, const SampleDraws& draws, std::uint32_t attempt) {
  const int height = std::min(static_cast<int>(extent[0]), size.height),
            width = std::min(static_cast<int>(extent[1]), size.width);
  return {static_cast<int>(integer_of(draws.unit("crop.top", attempt), 0, size.height - height)),
          static_cast<int>(integer_of(draws.unit("crop.left", attempt), 0, size.width - width)), height, width};
}

bool takes(const CategoryRule& rule, const Image& labels) {
  std::array<std::int64_t, 256> counts{};
  for (const std::uint8_t label : labels.pixels) ++counts[label];
  counts[kIgnored] = 0;
  const std::int64_t labeled = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  if (labeled == 0) return !rule.several;
  if (rule.several && most == labeled) return false;
  return static_cast<double>(most) / static_cast<double>(labeled) < rule.most;
}

ImageSize covering(const ImageSize& own, double ratio) {
  const double height = std::nearbyint(own.height * ratio), width = std::nearbyint(own.width * ratio);
  if (height > kSideMost || width > kSideMost) {
    throw DataError("an image of " + std::to_string(own.height) + " x " + std::to_string(own.width) +
                    " pixels is too narrow to be scaled to a crop");
  }
  return {static_cast<int>(height), static_cast<int>(width)};
}

}  // namespace

JointAugmentation::JointAugmentation(const Extent& extent, std::int64_t image_bytes)
    : extent_(extent), image_bytes_(image_bytes) {}

Sample JointAugmentation::apply(Sample sample, const SampleDraws& draws) const {
  const ImageSize size = joint_size(sample);
  return changed(std::move(sample), size, draws);
}

std::int64_t JointAugmentation::bytes(std::int64_t bytes) const {
  constexpr std::int64_t kTargetBytes = 1 + 4;  // of a pixel of mask and depth
  const auto shorter = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes)));  // side, at most
  return 3 * bytes + 3 * (shorter + 16) * extent_[1] + 2 * (image_bytes_ + 3 + kTargetBytes) * extent_[0] * extent_[1];
}

Box category_window(const Tensor& mask, const ImageSize& size, const Extent& extent, const CategoryRule& rule,
                    const ZoomHow& how, const SampleDraws& draws) {
  if (!mask.defined() || rule.most >= 1) return drawn_window(size, extent, draws, 0);
  const Image labels = image_of(mask.unsqueeze(0));
  Box window{};
  for (int test = 0; test < rule.tests; ++test) {
    window = drawn_window(size, extent, draws, static_cast<std::uint32_t>(test));
    if (takes(rule, how.filter ? resize_window(labels, size, window, Filter::kNearest)
                               : nearest_window(labels, size, window)))
      return window;
  }
  return rule.beyond ? drawn_window(size, extent, draws, static_cast<std::uint32_t>(rule.tests)) : window;
}

AsgScale asg_scale(const ImageSize& own, const Extent& extent, double most, const SampleDraws& draws) {
  const double least =
      std::max(static_cast<double>(extent[0]) / own.height, static_cast<double>(extent[1]) / own.width);
  double ratio = least * uniform_of(draws.unit("scale"), 1, most);
  ImageSize size = covering(own, ratio);
  if (size.height < extent[0] || size.width < extent[1]) {
    ratio = least;
    size = covering(own, ratio);
  }
  return {size, ratio < 1 ? Filter::kBox : Filter::kBicubic};
}

Sample maybe_mirrored(Sample sample, double probability, const SampleDraws& draws) {
  return probability > 0 && draws.unit("flip") < probability ? mirrored(std::move(sample)) : sample;
}

}  // namespace locus::engine

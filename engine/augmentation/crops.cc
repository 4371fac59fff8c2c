// Random crops.
#include "engine/augmentation/crops.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/augmentation/draw.h"

namespace locus::engine {
namespace {

constexpr std::uint32_t kCropTries = 10;

// Rounding is half to even, by the mode that every thread starts with.
int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }

Box in_the_middle(const ImageSize& image, int height, int width) {
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

Box largest_in_range(const ImageSize& image, const CropRange& range) {
  const double ratio = static_cast<double>(image.width) / image.height;
  if (ratio < range.least_ratio) {
    return in_the_middle(image, std::min(rounded(image.width / range.least_ratio), image.height), image.width);
  }
  if (ratio > range.most_ratio) {
    return in_the_middle(image, image.height, std::min(rounded(image.height * range.most_ratio), image.width));
  }
  return {0, 0, image.height, image.width};
}

int drawn(const SampleDraws& draws, std::string_view name, std::uint32_t attempt, int room) {
  return static_cast<int>(integer_of(draws.unit(name, attempt), 0, room));
}

}  // namespace

Box random_resized_crop(const ImageSize& image, const CropRange& range, const SampleDraws& draws) {
  const double whole = static_cast<double>(image.height) * image.width;
  const double least = std::log(range.least_ratio), most = std::log(range.most_ratio);
  for (std::uint32_t attempt = 0; attempt < kCropTries; ++attempt) {
    const double area = whole * uniform_of(draws.unit("crop.area", attempt), range.least_area, range.most_area);
    const double ratio = std::exp(uniform_of(draws.unit("crop.ratio", attempt), least, most));
    const int width = rounded(std::sqrt(area * ratio)), height = rounded(std::sqrt(area / ratio));
    if (width <= 0 || width > image.width || height <= 0 || height > image.height) continue;
    return {drawn(draws, "crop.top", attempt, image.height - height),
            drawn(draws, "crop.left", attempt, image.width - width), height, width};
  }
  return largest_in_range(image, range);
}

Image resized_crop(const Image& image, const Box& box, const Extent& extent, Filter filter) {
  return resize(image, box, static_cast<int>(extent[0]), static_cast<int>(extent[1]), filter);
}

Image resized_crop(const ImageParts& image, const Box& box, const Extent& extent, Filter filter) {
  return resize(image.part(box), static_cast<int>(extent[0]), static_cast<int>(extent[1]), filter);
}

Box random_window(const ImageSize& image, const Extent& extent, const SampleDraws& draws) {
  const int height = static_cast<int>(extent[0]), width = static_cast<int>(extent[1]);
  if (image.height < height || image.width < width) {
    throw std::invalid_argument("a window of " + std::to_string(height) + " x " + std::to_string(width) +
                                " pixels does not fit the padded image of " + std::to_string(image.height) + " x " +
                                std::to_string(image.width) + "; train at the size of the images, or crop and resize");
  }
  return {drawn(draws, "pad.top", 0, image.height - height), drawn(draws, "pad.left", 0, image.width - width), height,
          width};
}

Filter filter_of(std::string_view interpolation) {
  if (const auto filter = filter_named(interpolation)) return *filter;
  throw std::invalid_argument("no interpolation '" + std::string(interpolation) + "': bilinear or bicubic");
}

Sampling sampling_of(std::string_view interpolation) {
  if (interpolation == "bicubic") return Sampling::kBicubic;
  if (interpolation == "bilinear") return Sampling::kBilinear;
  if (interpolation == "nearest") return Sampling::kNearest;
  throw std::invalid_argument("geometric operations have no interpolation '" + std::string(interpolation) +
                              "': nearest, bilinear or bicubic");
}

}  // namespace locus::engine

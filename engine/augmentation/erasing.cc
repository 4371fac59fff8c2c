// Random erasing.
#include "engine/augmentation/erasing.h"

#include <cmath>

#include "engine/augmentation/draw.h"
#include "engine/images/crop.h"

namespace locus::engine {
namespace {

constexpr std::uint32_t kErasingTries = 10;
constexpr double kLeastArea = 0.02, kMostArea = 1.0 / 3, kLeastRatio = 0.3;

std::optional<Box> box_of(const std::string& name, std::int64_t height, std::int64_t width, std::int64_t boxes,
                          const SampleDraws& draws) {
  const double whole = static_cast<double>(height * width) / static_cast<double>(boxes);
  const double most = std::log(1 / kLeastRatio), least = std::log(kLeastRatio);
  for (std::uint32_t attempt = 0; attempt < kErasingTries; ++attempt) {
    const double area = whole * uniform_of(draws.unit(name + ".area", attempt), kLeastArea, kMostArea);
    const double ratio = std::exp(uniform_of(draws.unit(name + ".ratio", attempt), least, most));
    const auto rows = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * ratio)));
    const auto columns = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / ratio)));
    if (rows >= height || columns >= width) continue;
    const std::int64_t top = integer_of(draws.unit(name + ".top", attempt), 0, height - rows);
    const std::int64_t left = integer_of(draws.unit(name + ".left", attempt), 0, width - columns);
    return Box{static_cast<int>(top), static_cast<int>(left), static_cast<int>(rows), static_cast<int>(columns)};
  }
  return std::nullopt;
}

void fill_with_noise(Tensor& image, const Box& box, const SampleDraws& draws) {
  const std::int64_t height = image.size(1), width = image.size(2);
  float* pixels = image.mutable_data_ptr<float>();
  for (std::int64_t c = 0; c < image.size(0); ++c) {
    for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
      const std::int64_t first = (c * height + y) * width + box.left;
      const Tensor numbers = draws.normals("erase.noise", {box.width}, first);
      std::copy_n(numbers.const_data_ptr<float>(), box.width, pixels + first);
    }
  }
}

}  // namespace

Tensor erased(const Tensor& image, const Erasing& erasing, const SampleDraws& draws) {
  if (erasing.probability <= 0 || draws.unit("erase.apply") > erasing.probability) return image;
  Tensor out = image.clone(at::MemoryFormat::Contiguous);
  const std::int64_t boxes = erasing.most > 1 ? integer_of(draws.unit("erase.count"), 1, erasing.most) : 1;
  for (std::int64_t j = 0; j < boxes; ++j) {
    const std::string name = "erase." + std::to_string(j);
    const auto box = box_of(name, out.size(1), out.size(2), boxes, draws);
    if (!box || box->height == 0 || box->width == 0) continue;
    if (erasing.by == ErasedBy::kPixel) {
      fill_with_noise(out, *box, draws);
      continue;
    }
    Tensor part = out.slice(1, box->top, box->top + box->height).slice(2, box->left, box->left + box->width);
    if (erasing.by == ErasedBy::kConstant) {
      part.zero_();
    } else {
      part.copy_(draws.normals(name + ".color", {out.size(0)}, 0).view({-1, 1, 1}).expand_as(part));
    }
  }
  return out;
}

}  // namespace locus::engine

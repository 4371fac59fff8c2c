// Normalization and resizing, of batches and as steps.
#include "engine/data/transform.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace locus::engine {
namespace {

constexpr std::int64_t kFloatBytes = 4;

class Normalizing : public Transform {
 public:
  explicit Normalizing(Normalization normalization) : normalization_(std::move(normalization)) {}

  Sample apply(Sample sample, const SampleDraws&) const override {
    for (auto& [name, tensor] : sample) {
      if (is_image(name)) tensor = normalized(tensor, normalization_, at::kCPU);
    }
    return sample;
  }
  std::int64_t bytes(std::int64_t bytes) const override { return bytes + kFloatBytes * bytes; }

 private:
  Normalization normalization_;
};

class Resizing : public Transform {
 public:
  Resizing(const Extent& extent, std::int64_t channels, std::string interpolation)
      : extent_(extent), channels_(channels), interpolation_(std::move(interpolation)) {}

  Sample apply(Sample sample, const SampleDraws&) const override {
    Tensor& image = sample.at(kImage);
    if (image.dim() != 3 || image.size(0) != channels_)
      throw std::invalid_argument("the image has not the " + std::to_string(channels_) + " channels of its dataset");
    image = resized(image.unsqueeze(0), extent_, interpolation_).squeeze(0);
    return sample;
  }
  std::int64_t bytes(std::int64_t bytes) const override {
    return bytes + kFloatBytes * channels_ * extent_[0] * extent_[1];
  }

 private:
  Extent extent_;
  std::int64_t channels_;
  std::string interpolation_;
};

}  // namespace

namespace {

Tensor computed(const Tensor& images, const Normalization& normalization, at::Device device) {
  Tensor out = images.to(device).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  const auto channels = static_cast<std::int64_t>(normalization.mean.size());
  if (channels == 0) return out;
  if (channels == 1) {  // the same affine map for all: scalars, no broadcast tensors
    const double scale = 1 / (255 * normalization.deviation[0]);
    return out.mul_(scale).sub_(normalization.mean[0] / normalization.deviation[0]);
  }
  const Tensor mean = at::tensor(normalization.mean).to(device, at::kFloat).view({channels, 1, 1});
  const Tensor deviation = at::tensor(normalization.deviation).to(device, at::kFloat).view({channels, 1, 1});
  return out.div_(255).sub_(mean).div_(deviation);
}

constexpr std::int64_t kValues = 256;                // of a byte
constexpr std::int64_t kTableFrom = 16 * kValues;    // elements below which a table is no gain
constexpr std::int64_t kElementsAtOnce = 32 * 1024;  // of a thread

// Whether there is a table for each plane of such images.
bool has_table(const Tensor& images, const Normalization& normalization, at::Device device) {
  if (!device.is_cpu() || !images.is_cpu() || images.scalar_type() != at::kByte || !images.is_contiguous())
    return false;
  if (images.dim() < 3 || images.numel() < kTableFrom) return false;
  const auto channels = static_cast<std::int64_t>(normalization.mean.size());
  return channels == 1 || (channels > 1 && images.size(-3) == channels);
}

Tensor looked_up(const Tensor& images, const Tensor& tables) {
  Tensor out = at::empty(images.sizes(), at::kFloat);
  const std::int64_t plane = images.size(-1) * images.size(-2), channels = tables.size(0);
  const auto* from = images.const_data_ptr<std::uint8_t>();
  const auto* table = tables.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, images.numel() / plane, std::max<std::int64_t>(1, kElementsAtOnce / plane),
                   [&](std::int64_t first, std::int64_t end) {
                     for (std::int64_t p = first; p < end; ++p) {
                       const float* of_channel = table + p % channels * kValues;
                       for (std::int64_t i = p * plane; i < (p + 1) * plane; ++i) to[i] = of_channel[from[i]];
                     }
                   });
  return out;
}

}  // namespace

// Computed by the same operations, so looking up gives the same bits in one pass over memory instead of four.
Tensor byte_values(const Normalization& normalization) {
  const auto channels = std::max<std::int64_t>(1, static_cast<std::int64_t>(normalization.mean.size()));
  const Tensor values = at::arange(kValues, at::kByte).view({1, 1, kValues}).expand({channels, 1, kValues});
  return computed(values, normalization, at::kCPU).view({channels, kValues}).contiguous();
}

Tensor normalized(const Tensor& images, const Normalization& normalization, at::Device device) {
  if (has_table(images, normalization, device)) return looked_up(images, byte_values(normalization));
  return computed(images, normalization, device);
}

Extent extent_at(const Extent& own, std::int64_t shorter) {
  const std::int64_t least = std::min(own[0], own[1]);
  return {shorter * own[0] / least, shorter * own[1] / least};
}

Tensor resized(const Tensor& images, const Extent& extent, std::string_view interpolation) {
  const bool bicubic = interpolation == "bicubic";
  if (!bicubic && interpolation != "bilinear")
    throw std::invalid_argument("no interpolation '" + std::string(interpolation) + "': bilinear or bicubic");
  if (images.size(2) == extent[0] && images.size(3) == extent[1]) return images;
  return bicubic ? at::upsample_bicubic2d(images, extent, /*align_corners=*/false)
                 : at::upsample_bilinear2d(images, extent, /*align_corners=*/false);
}

std::shared_ptr<const Transform> normalizing(Normalization normalization) {
  return std::make_shared<Normalizing>(std::move(normalization));
}

std::shared_ptr<const Transform> resizing(const Extent& extent, std::int64_t channels, std::string interpolation) {
  return std::make_shared<Resizing>(extent, channels, std::move(interpolation));
}

}  // namespace locus::engine

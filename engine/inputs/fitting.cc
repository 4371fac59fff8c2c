// The resizers are those of engine/images and engine/data; here it is which one, to what size, and the crop.
#include "engine/inputs/fitting.h"

#include <algorithm>

#include "engine/data/joint.h"
#include "engine/data/pixels.h"
#include "engine/data/resize.h"
#include "engine/images/crop.h"
#include "engine/images/resize.h"

namespace locus::engine {
namespace {

constexpr const char *kShorter = "shorter", *kBoth = "both", *kStretch = "stretch";
constexpr const char *kPillow = "pillow", *kTensor = "tensor";

class FittingStep final : public Transform {
 public:
  explicit FittingStep(Fitting how) : how_(std::move(how)), filter_(filter_named(how_.interpolation)) { check(); }

  Sample apply(Sample sample, const SampleDraws&) const override {
    refuse_targets(sample, "this input", "write input: dense");
    for (auto& [name, tensor] : sample) {
      if (is_image(name)) tensor = fitted(tensor);
    }
    return sample;
  }

  // The image, its resized copies of which an enlarged one is taken to be at most four times as long as it is high, and the
  // result.
  std::int64_t bytes(std::int64_t bytes) const override {
    constexpr std::int64_t kChannels = 3, kAspect = 4;
    const std::int64_t enlarged = kChannels * kAspect * how_.size[0] * how_.size[1];
    return bytes + 2 * std::max(bytes, enlarged) + 2 * kChannels * how_.crop[0] * how_.crop[1];
  }

 private:
  void check() const {
    const std::string& resize = how_.resize;
    if (resize != kShorter && resize != kBoth && resize != kStretch)
      throw std::invalid_argument("no resizing '" + resize + "': shorter, both or stretch");
    if (how_.method != kPillow && how_.method != kTensor)
      throw std::invalid_argument("no method of resizing '" + how_.method + "': pillow or tensor");
    if (!filter_)
      throw std::invalid_argument("no interpolation '" + how_.interpolation +
                                  "': nearest, box, bilinear, hamming, bicubic or lanczos");
    if (how_.method == kTensor && *filter_ != Filter::kBilinear && *filter_ != Filter::kBicubic)
      throw std::invalid_argument("the method tensor resizes by bilinear or bicubic interpolation, not by " +
                                  how_.interpolation);
    if (std::min({how_.size[0], how_.size[1], how_.crop[0], how_.crop[1]}) < 1)
      throw std::invalid_argument("images are resized to at least one pixel");
  }

  Tensor fitted(const Tensor& pixels) const {
    const Extent to = resized_extent({pixels.size(1), pixels.size(2)}, how_);
    const auto height = static_cast<int>(how_.crop[0]), width = static_cast<int>(how_.crop[1]);
    if (how_.method == kTensor) {
      const Tensor out = resized_antialias(pixels, to, how_.interpolation);
      return to == how_.crop ? out : tensor_of(center_crop(image_of(out), height, width));
    }
    if (to == how_.crop && pixels.size(1) == to[0] && pixels.size(2) == to[1]) return pixels;
    const Image out = resize(image_of(pixels), static_cast<int>(to[0]), static_cast<int>(to[1]), *filter_);
    return tensor_of(to == how_.crop ? out : center_crop(out, height, width));
  }

  Fitting how_;
  std::optional<Filter> filter_;
};

}  // namespace

Extent resized_extent(const Extent& own, const Fitting& how) {
  if (how.resize == kStretch) return how.size;
  const ImageSize from{static_cast<int>(own[0]), static_cast<int>(own[1])};
  const auto shorter = static_cast<int>(how.size[0]);
  const ImageSize to = how.resize == kBoth ? both_sides_at(from, shorter) : shorter_side_at(from, shorter);
  return {to.height, to.width};
}

std::shared_ptr<const Transform> fitting(Fitting how) { return std::make_shared<FittingStep>(std::move(how)); }

}  // namespace locus::engine

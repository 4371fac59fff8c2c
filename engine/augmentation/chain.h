// What the augmentations share: a transform of the image alone, crops by options, and timm's steps after the crop.
#pragma once

#include "engine/augmentation/augmentation.h"
#include "engine/augmentation/crops.h"
#include "engine/augmentation/erasing.h"
#include "engine/augmentation/jitter.h"
#include "engine/augmentation/policy.h"

namespace locus::engine {

// Changes a sample's "image" and nothing else.
class ImageAugmentation : public Transform {
 public:
  // Of images that come out with `numbers` values.
  explicit ImageAugmentation(const AugmentationContext& context);
  Sample apply(Sample sample, const SampleDraws& draws) const final;
  Sample begin(const UndecodedSample& undecoded, const SampleDraws& draws) const final;
  std::int64_t bytes(std::int64_t bytes) const override;

 protected:
  // A new tensor [C, H, W]. Of an image that is not decoded yet only the parts that are asked for will be.
  virtual Tensor changed(const ImageParts& image, const SampleDraws& draws) const = 0;
  std::int64_t numbers() const { return numbers_; }  // of an image that comes out

 private:
  std::int64_t numbers_;
};

// Options scale_min, scale_max, ratio_min and ratio_max, and what they say. With `other` they mean something only while that
// option is `value`.
void add_crop_options(Item& item, std::string_view other = "", const std::string& value = "");
CropRange crop_range(const Options& options);

// Option flip.
void add_flip_option(Item& item);
// Turns the image around where "flip" is below `probability`.
Image maybe_flipped(Image image, double probability, const SampleDraws& draws);

// Option interpolation: the context's or another, which "random" draws image by image ("interpolation").
void add_interpolation_option(Item& item);
class Interpolations {
 public:
  // Throws std::invalid_argument where geometric operations do not know it.
  Interpolations(const Options& options, const AugmentationContext& context);
  std::string drawn(const SampleDraws& draws) const;

 private:
  std::string name_;
};

// timm's order after the crop: flip, policy or color jitter, normalization, erasing.
class TimmChain {
 public:
  // Throws std::invalid_argument on a policy that cannot be read.
  TimmChain(const Options& options, const AugmentationContext& context);
  // uint8 [C, H, W], or float32 and normalized where it normalizes.
  Tensor operator()(Image image, const std::string& interpolation, const SampleDraws& draws) const;
  bool normalizes() const { return erasing_.probability > 0; }

 private:
  double flip_;
  std::shared_ptr<const Policy> policy_;  // null: color jitter
  Jitter jitter_;
  Erasing erasing_;
  Normalization normalization_;
  std::vector<std::uint8_t> fill_;
};
// Its options: flip, policy, color_jitter and those of erasing.
void add_timm_options(Item& item, std::string_view policy, double erasing);

}  // namespace locus::engine

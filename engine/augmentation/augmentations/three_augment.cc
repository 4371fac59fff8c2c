// 3-Augment of DeiT-III (Touvron and others, ECCV 2022): crop, flip, one of grayscale, solarization and blur, color jitter.
#include "engine/augmentation/chain.h"
#include "engine/augmentation/draw.h"
#include "engine/base/failure.h"
#include "engine/data/pixels.h"
#include "engine/images/blur.h"
#include "engine/images/colors.h"

namespace locus::engine::augmentations {
namespace {

constexpr int kReflected = 4;  // pixels of border of a simple crop
constexpr std::int64_t kLongest =
    32;  // most that one side may be of the other in a simple crop, which bounds its memory
constexpr double kSolarized = 128;
constexpr double kLeastBlur = 0.1, kMostBlur = 2;

class ThreeAugment final : public ImageAugmentation {
 public:
  ThreeAugment(const AugmentationContext& context, const Options& options)
      : ImageAugmentation(context),
        extent_(context.extent),
        range_(crop_range(options)),
        simple_(options.text("crop") == "simple"),
        flip_(options.number("flip")),
        jitter_{options.number("color_jitter"), options.number("color_jitter"), options.number("color_jitter")},
        filter_(filter_of(context.interpolation)) {}
  std::int64_t bytes(std::int64_t bytes) const override {
    return ImageAugmentation::bytes(bytes) + (simple_ ? 3 * kLongest * border() : 0);
  }

 private:
  Tensor changed(const ImageParts& image, const SampleDraws& draws) const override {
    Image part = simple_ ? simple_crop(image.whole(), draws)
                         : resized_crop(image, random_resized_crop(image.size(), range_, draws), extent_, filter_);
    part = one_of_three(maybe_flipped(std::move(part), flip_, draws), draws);
    return tensor_of(jittered(std::move(part), jitter_, draws));
  }

  // The shorter side resized to the extent's longer one, 4 reflected pixels around it, and a window.
  Image simple_crop(const Image& image, const SampleDraws& draws) const {
    if (std::max(image.height, image.width) > kLongest * std::min(image.height, image.width)) {
      throw DataError("a simple crop resizes the shorter side, which an image of " + std::to_string(image.height) +
                      " x " + std::to_string(image.width) +
                      " pixels is too long for; leave it out or use the random crop");
    }
    const auto shorter = static_cast<int>(std::max(extent_[0], extent_[1]));
    const ImageSize size = shorter_side_at(size_of(image), shorter);
    const Image around = reflect_padded(resize(image, size.height, size.width, filter_), kReflected);
    return crop(around, random_window(size_of(around), extent_, draws));
  }

  static Image one_of_three(const Image& image, const SampleDraws& draws) {
    switch (integer_of(draws.unit("three.kind"), 0, 2)) {
      case 0:
        return pillow::grayscale(image);
      case 1:
        return pillow::solarize(image, kSolarized);
      default:
        return pillow::gaussian_blur(image, uniform_of(draws.unit("blur.sigma"), kLeastBlur, kMostBlur));
    }
  }

  std::int64_t border() const {  // numbers of the square around the extent
    const std::int64_t side = std::max(extent_[0], extent_[1]) + 2 * kReflected;
    return numbers() / (extent_[0] * extent_[1]) * side * side;
  }

  Extent extent_;
  CropRange range_;
  bool simple_;
  double flip_;
  Jitter jitter_;
  Filter filter_;
};

}  // namespace

AugmentationItem three_augment() {
  Item item("augmentation", "three-augment", 1,
            "3-Augment: one of grayscale, solarization and blur, then color jitter");
  item.facts({{"setting", {{"augmentation", "3-Augment"}}}});
  item.set("paper", "DeiT-III");
  item.option(
      Option::text("crop", "random", "random: of the area and ratio below; simple: a window of the resized image")
          .choices({"random", "simple"}));
  add_crop_options(item, "crop", "random");
  add_flip_option(item);
  item.option(Option::number("color_jitter", 0.3, "largest change of brightness, contrast and saturation")
                  .minimum(0.0)
                  .maximum(1.0));
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            return {{std::make_shared<ThreeAugment>(context, options)}, false};
          }};
}

}  // namespace locus::engine::augmentations

// A random crop, resized by Pillow's rule, and a flip: what ASG trains with, and the linear evaluation of DINO.
#include "engine/augmentation/chain.h"
#include "engine/data/pixels.h"

namespace locus::engine::augmentations {
namespace {

class CropFlip final : public ImageAugmentation {
 public:
  CropFlip(const AugmentationContext& context, const Options& options)
      : ImageAugmentation(context),
        extent_(context.extent),
        range_(crop_range(options)),
        interpolation_(options, context),
        flip_(options.number("flip")) {}

 private:
  Tensor changed(const ImageParts& image, const SampleDraws& draws) const override {
    const Box box = random_resized_crop(image.size(), range_, draws);
    const Filter filter = filter_of(interpolation_.drawn(draws));
    return tensor_of(maybe_flipped(resized_crop(image, box, extent_, filter), flip_, draws));
  }

  Extent extent_;
  CropRange range_;
  Interpolations interpolation_;
  double flip_;
};

}  // namespace

AugmentationItem crop_flip() {
  Item item("augmentation", "crop-flip", 1, "A random part of the image at a random ratio, resized, flipped or not");
  item.facts({{"setting", {{"augmentation", "random resized crop and horizontal flip"}}}});
  add_crop_options(item);
  add_flip_option(item);
  add_interpolation_option(item);
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            return {{std::make_shared<CropFlip>(context, options)}, false};
          }};
}

}  // namespace locus::engine::augmentations

// DeiT's augmentation of timm (Touvron and others, ICML 2021): crop, flip, RandAugment or another policy, normalization, random
// erasing.
#include "engine/augmentation/chain.h"
#include "engine/data/pixels.h"

namespace locus::engine::augmentations {
namespace {

class Deit final : public ImageAugmentation {
 public:
  Deit(const AugmentationContext& context, const Options& options, const TimmChain& chain)
      : ImageAugmentation(context),
        extent_(context.extent),
        range_(crop_range(options)),
        interpolation_(options, context),
        chain_(chain) {}

 private:
  Tensor changed(const ImageParts& image, const SampleDraws& draws) const override {
    const Box box = random_resized_crop(image.size(), range_, draws);
    const std::string interpolation = interpolation_.drawn(draws);
    return chain_(resized_crop(image, box, extent_, filter_of(interpolation)), interpolation, draws);
  }

  Extent extent_;
  CropRange range_;
  Interpolations interpolation_;
  TimmChain chain_;
};

}  // namespace

AugmentationItem deit() {
  Item item("augmentation", "deit", 1, "timm's crop, flip, policy and random erasing, as DeiT is trained with");
  item.facts({{"setting", {{"augmentation", "the recipe of DeiT"}}}});
  item.set("paper", "DeiT");
  add_crop_options(item);
  add_interpolation_option(item);
  add_timm_options(item, "rand-m9-mstd0.5-inc1", 0.25);
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            const TimmChain chain(options, context);
            return {{std::make_shared<Deit>(context, options, chain)}, chain.normalizes()};
          }};
}

}  // namespace locus::engine::augmentations

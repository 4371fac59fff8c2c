// The usual augmentation of small images, CIFAR's: a border of zeros, a random window, a flip; then the steps of timm, as
// DeiT's code trains at 32 pixels.
#include "engine/augmentation/chain.h"
#include "engine/data/pixels.h"

namespace locus::engine::augmentations {
namespace {

class PadCrop final : public ImageAugmentation {
 public:
  PadCrop(const AugmentationContext& context, const Options& options, const TimmChain& chain)
      : ImageAugmentation(context),
        extent_(context.extent),
        padding_(static_cast<int>(options.integer("padding"))),
        interpolation_(options, context),
        chain_(chain) {}
  std::int64_t bytes(std::int64_t bytes) const override {  // padded, an image has (1 + 2p)^2 times the pixels at most
    const std::int64_t side = 2 * padding_ + 1;
    return ImageAugmentation::bytes(bytes) + side * side * bytes;
  }

 private:
  Tensor changed(const ImageParts& parts, const SampleDraws& draws) const override {
    const Image image = zero_padded(parts.whole(), {padding_, padding_, padding_, padding_});
    const Box box = random_window(size_of(image), extent_, draws);
    return chain_(crop(image, box), interpolation_.drawn(draws), draws);
  }

  Extent extent_;
  int padding_;
  Interpolations interpolation_;
  TimmChain chain_;
};

}  // namespace

AugmentationItem pad_crop() {
  Item item("augmentation", "pad-crop", 1,
            "A random window of the image with a border of zeros, for images of one size");
  item.facts({{"setting", {{"augmentation", "padded crop and the policy of DeiT"}}}});
  item.option(Option::integer("padding", 4, "pixels of border on each side").minimum(0).maximum(64));
  add_interpolation_option(item);
  add_timm_options(item, "rand-m9-mstd0.5-inc1", 0.25);
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            const TimmChain chain(options, context);
            return {{std::make_shared<PadCrop>(context, options, chain)}, chain.normalizes()};
          }};
}

}  // namespace locus::engine::augmentations

// torchvision's transforms of 8-bit tensors: random crop with antialiased resizing, flip, one of its policies. PaPE trains with
// RandAugment at bin 9 of 31.
#include "engine/augmentation/chain.h"
#include "engine/data/pixels.h"
#include "engine/data/resize.h"

namespace locus::engine::augmentations {
namespace {

std::shared_ptr<const Policy> policy_of(const Options& options) {
  const std::string policy = options.text("policy");
  const Bins bins{options.integer("magnitude"), options.integer("bins")};
  if (policy == "randaugment") {
    if (bins.bin >= bins.bins) {
      throw std::invalid_argument("magnitude " + std::to_string(bins.bin) + " is none of the " +
                                  std::to_string(bins.bins) + " bins, which are counted from 0");
    }
    return torchvision_randaugment(options.integer("operations"), bins);
  }
  if (policy == "trivialaugment") return torchvision_trivialaugment(bins.bins);
  return policy == "autoaugment" ? torchvision_autoaugment() : nullptr;
}

class Torchvision final : public ImageAugmentation {
 public:
  Torchvision(const AugmentationContext& context, const Options& options)
      : ImageAugmentation(context),
        extent_(context.extent),
        range_(crop_range(options)),
        interpolation_(options.text("interpolation")),
        flip_(options.number("flip")),
        policy_(policy_of(options)) {}

 private:
  Tensor changed(const ImageParts& image, const SampleDraws& draws) const override {
    const Box box = random_resized_crop(image.size(), range_, draws);
    Tensor out = resized_antialias(tensor_of(image.part(box)), extent_, interpolation_);
    if (flip_ > 0 && draws.unit("flip") < flip_) out = out.flip({2});
    return policy_ ? tensor_of(policy_->apply(image_of(out), draws, {})) : out;
  }

  Extent extent_;
  CropRange range_;
  std::string interpolation_;
  double flip_;
  std::shared_ptr<const Policy> policy_;
};

}  // namespace

AugmentationItem torchvision() {
  Item item("augmentation", "torchvision", 1,
            "torchvision's crop, flip and policy on 8-bit tensors, as PaPE is trained with");
  item.facts({{"setting", {{"augmentation", "torchvision's crop, flip and policy"}}}});
  item.set("paper", "PaPE");
  add_crop_options(item);
  add_flip_option(item);
  item.option(
      Option::text("interpolation", "bilinear", "of the crop's antialiased resizing").choices({"bilinear", "bicubic"}));
  item.option(Option::text("policy", "randaugment", "what else is done to the image")
                  .choices({"randaugment", "trivialaugment", "autoaugment", "none"}));
  item.option(Option::integer("operations", 2, "operations of RandAugment, one after the other")
                  .minimum(1)
                  .maximum(14)
                  .when("policy", {"randaugment"}));
  item.option(Option::integer("magnitude", 9, "bin of RandAugment's strength, from 0")
                  .minimum(0)
                  .maximum(1000)
                  .when("policy", {"randaugment"}));
  item.option(Option::integer("bins", 31, "bins over the whole range of a strength")
                  .minimum(2)
                  .maximum(1001)
                  .when("policy", {"randaugment", "trivialaugment"}));
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            return {{std::make_shared<Torchvision>(context, options)}, false};
          }};
}

}  // namespace locus::engine::augmentations

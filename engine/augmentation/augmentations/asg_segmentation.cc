// What ASG trains segmentation with: the image scaled to cover the crop and up to 1.3 times more, a window in which no class
// has most of the pixels, a flip, now and then color jitter. Masks follow by the nearest pixel.
#include "engine/augmentation/chain.h"
#include "engine/augmentation/joint_steps.h"

namespace locus::engine::augmentations {
namespace {

class AsgSegmentation final : public JointAugmentation {
 public:
  AsgSegmentation(const AugmentationContext& context, const Options& options)
      : JointAugmentation(context.extent, context.channels),
        scale_(options.number("scale_max")),
        rule_{.most = options.number("category_share")},
        flip_(options.number("flip")),
        jitter_(options.number("jitter")) {}

 private:
  Sample changed(Sample sample, const ImageSize& size, const SampleDraws& draws) const override {
    const AsgScale scale = asg_scale(size, extent(), scale_, draws);
    const ZoomHow how{.filter = scale.filter};
    const auto mask = sample.find(kMask);
    const Box window =
        category_window(mask == sample.end() ? Tensor() : mask->second, scale.size, extent(), rule_, how, draws);
    sample = maybe_mirrored(zoomed(std::move(sample), {scale.size, window}, how), flip_, draws);
    if (jitter_ <= 0 || draws.unit("jitter.apply") >= jitter_) return sample;
    return with_image(std::move(sample), [&](Image image) {
      return jittered(std::move(image), {0.2, 0.2, 0.2, 0.05}, draws);
    });
  }

  double scale_;
  CategoryRule rule_;
  double flip_, jitter_;
};

}  // namespace

AugmentationItem asg_segmentation() {
  Item item("augmentation", "asg-segmentation", 1,
            "Scale, crop and flip of images with masks, color jitter now and then, as ASG trains segmentation");
  item.facts({{"setting", {{"augmentation", "scale, crop by class shares, flip, color jitter"}}}});
  item.set("paper", "ASG");
  item.option(Option::number("scale_max", 1.3, "most that the image is larger than what covers the crop, as a factor")
                  .minimum(1.0)
                  .maximum(10.0));
  item.option(
      Option::number("category_share", 0.7,
                     "a window is drawn again, nine times at most, where one class has this share of its labeled "
                     "pixels or more; 1: never")
          .minimum(0.01)
          .maximum(1.0));
  add_flip_option(item);
  item.option(
      Option::number("jitter", 0.1,
                     "probability that brightness, contrast and saturation change by up to 0.2, the hue by 0.05")
          .minimum(0.0)
          .maximum(1.0));
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            return {{std::make_shared<AsgSegmentation>(context, options)}, false};
          }};
}

}  // namespace locus::engine::augmentations

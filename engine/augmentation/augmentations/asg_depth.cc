// What ASG trains depth with: the image scaled to cover the crop and up to 1.2 times more, a random window, a flip, color
// jitter, now and then gray. Depth follows by means over what is known of it and keeps its meters.
#include "engine/augmentation/chain.h"
#include "engine/augmentation/joint_steps.h"
#include "engine/images/colors.h"

namespace locus::engine::augmentations {
namespace {

class AsgDepth final : public JointAugmentation {
 public:
  AsgDepth(const AugmentationContext& context, const Options& options)
      : JointAugmentation(context.extent, context.channels),
        scale_(options.number("scale_max")),
        least_share_(options.number("known_share")),
        flip_(options.number("flip")),
        jitter_(options.number("jitter")),
        gray_(options.number("gray")) {}

 private:
  Sample changed(Sample sample, const ImageSize& size, const SampleDraws& draws) const override {
    const AsgScale scale = asg_scale(size, extent(), scale_, draws);
    const ZoomHow how{.filter = scale.filter, .least_share = least_share_};
    const Box window = category_window({}, scale.size, extent(), {}, how, draws);
    sample = maybe_mirrored(zoomed(std::move(sample), {scale.size, window}, how), flip_, draws);
    return with_image(std::move(sample), [&](Image image) {
      if (jitter_ > 0 && draws.unit("jitter.apply") < jitter_)
        image = jittered(std::move(image), {0.3, 0.3, 0.3, 0.05}, draws);
      return gray_ > 0 && draws.unit("gray") < gray_ ? pillow::grayscale(image) : image;
    });
  }

  double scale_, least_share_, flip_, jitter_, gray_;
};

}  // namespace

AugmentationItem asg_depth() {
  Item item("augmentation", "asg-depth", 1,
            "Scale, crop and flip of images with depth, color jitter and gray, as ASG trains depth");
  item.facts({{"setting", {{"augmentation", "scale, crop, flip, color jitter, gray"}}}});
  item.set("paper", "ASG");
  item.option(Option::number("scale_max", 1.2, "most that the image is larger than what covers the crop, as a factor")
                  .minimum(1.0)
                  .maximum(10.0));
  item.option(Option::number("known_share", 0.1, "of the depth behind a pixel, what must be known for it to be known")
                  .minimum(0.0)
                  .maximum(1.0));
  add_flip_option(item);
  item.option(
      Option::number("jitter", 0.5,
                     "probability that brightness, contrast and saturation change by up to 0.3, the hue by 0.05")
          .minimum(0.0)
          .maximum(1.0));
  item.option(Option::number("gray", 0.05, "probability that the colors are taken away").minimum(0.0).maximum(1.0));
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            return {{std::make_shared<AsgDepth>(context, options)}, false};
          }};
}

}  // namespace locus::engine::augmentations

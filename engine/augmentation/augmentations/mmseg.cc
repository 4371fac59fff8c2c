// mmsegmentation's training pipeline (version 1.2, ade20k configurations): a random scale of a box four times as long as the
// crop, a window by the shares of its classes, a flip, photometric distortion, normalization, a border. Images are resized by
// exact bilinear pixels, where OpenCV's fixed point may differ by 1.
#include <cmath>

#include "engine/augmentation/chain.h"
#include "engine/augmentation/draw.h"
#include "engine/augmentation/joint_steps.h"
#include "engine/augmentation/photometric.h"
#include "engine/base/failure.h"

namespace locus::engine::augmentations {
namespace {

constexpr double kMmsegSideMost = 1 << 20;  // pixels

class Mmseg final : public JointAugmentation {
 public:
  Mmseg(const AugmentationContext& context, const Options& options)
      : JointAugmentation(context.extent, 4 * context.channels),
        channels_(context.channels),
        least_(options.number("scale_min")),
        most_(options.number("scale_max")),
        longer_(options.number("longer")),
        rule_{.most = options.number("category_share"), .several = true, .beyond = true},
        flip_(options.number("flip")),
        photometric_(options.boolean("photometric")),
        normalization_(context.normalization) {
    if (least_ > most_) throw std::invalid_argument("scale_min is at most scale_max");
  }

 private:
  // The size at which the image fits the scaled box, one of its sides touching.
  ImageSize scaled(const ImageSize& own, const SampleDraws& draws) const {
    const double q = uniform_of(draws.unit("scale"), least_, most_);
    const auto shorter = static_cast<double>(std::min(extent()[0], extent()[1]));
    const double ratio = std::min(std::floor(longer_ * shorter * q) / std::max(own.height, own.width),
                                  std::floor(shorter * q) / std::min(own.height, own.width));
    const double height = std::floor(own.height * ratio + 0.5), width = std::floor(own.width * ratio + 0.5);
    if (height < 1 || width < 1 || std::max(height, width) > kMmsegSideMost) {
      throw DataError("an image of " + std::to_string(own.height) + " x " + std::to_string(own.width) +
                      " pixels is too narrow to be scaled by " + std::to_string(ratio));
    }
    return {static_cast<int>(height), static_cast<int>(width)};
  }

  Sample changed(Sample sample, const ImageSize& own, const SampleDraws& draws) const override {
    const ImageSize size = scaled(own, draws);
    const auto mask = sample.find(kMask);
    const Box window =
        category_window(mask == sample.end() ? Tensor() : mask->second, size, extent(), rule_, {}, draws);
    sample = maybe_mirrored(zoomed(std::move(sample), {size, window}, {}), flip_, draws);
    if (photometric_)
      sample = with_image(std::move(sample), [&](Image image) { return distorted(std::move(image), draws); });
    Tensor& image = sample.at(kImage);
    image = normalized(image.contiguous(), normalization_, at::kCPU);
    const std::vector<double> zeros(static_cast<std::size_t>(channels_));
    return padded(std::move(sample), {static_cast<int>(extent()[0]), static_cast<int>(extent()[1])}, zeros);
  }

  std::int64_t channels_;
  double least_, most_, longer_;
  CategoryRule rule_;
  double flip_;
  bool photometric_;
  Normalization normalization_;
};

}  // namespace

AugmentationItem mmseg() {
  Item item("augmentation", "mmseg", 1,
            "Random scale, crop by class shares, flip and photometric distortion, as mmsegmentation trains");
  item.facts({{"setting", {{"augmentation", "random scale, crop by class shares, flip, photometric distortion"}}}});
  item.option(Option::number("scale_min", 0.5, "least scale of the box that the image is fit into")
                  .minimum(0.01)
                  .maximum(10.0));
  item.option(Option::number("scale_max", 2.0, "most").minimum(0.01).maximum(10.0));
  item.constraint(
      {{"rule", "at-most"}, {"left", "scale_min"}, {"right", "scale_max"}, {"help", "the range begins below its end"}});
  item.option(Option::number("longer", 4.0, "longer side of that box over the crop's; its shorter side is the crop's")
                  .minimum(1.0)
                  .maximum(100.0));
  item.option(
      Option::number("category_share", 0.75,
                     "a window is drawn again, ten times at most, where one class has this share of its labeled "
                     "pixels or more, or all; 1: never")
          .minimum(0.01)
          .maximum(1.0));
  add_flip_option(item);
  item.option(Option::boolean("photometric", true,
                              "change brightness, contrast, saturation and hue, each with probability 1/2"));
  return {std::move(item), [](const AugmentationContext& context, const Options& options) -> Augmentation {
            return {{std::make_shared<Mmseg>(context, options)}, true};
          }};
}

}  // namespace locus::engine::augmentations

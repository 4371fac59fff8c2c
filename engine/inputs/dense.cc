// Images with masks or depth, as dense predictions are evaluated, which training takes, too, where nothing augments it.
//
//   center   one side (the shorter one, or the height) at round(margin S), both rounded half to even, by Pillow's box kernel
//            where that shrinks and its bicubic one elsewhere; the S x S pixels at the center, of the mask by the nearest pixel and
//            of the depth by means over what is known: ASG (segmentation: S = 336; depth: the height, 1.07, S = 224). A
//            smaller image gets the mean color, the class 255 and the depth 0 on the right and below.
//   whole    the image fit into `longer` S x S, the longer side along the longer one, both rounded half up, by plain
//            bilinear pixels; mask and depth as they are, so that predictions are resized to them: mmsegmentation (S = 512). Each
//            image is a batch of its own. Training takes the center.
#include <cmath>

#include "engine/base/failure.h"
#include "engine/data/joint.h"
#include "engine/data/pixels.h"
#include "engine/images/plain_resize.h"
#include "engine/inputs/input.h"
#include "engine/inputs/normalizations.h"

namespace locus::engine::inputs {
namespace {

constexpr double kDenseSideMost = 1 << 20;  // pixels

ImageSize checked_size(const ImageSize& own, double height, double width) {
  if (height < 1 || width < 1 || std::max(height, width) > kDenseSideMost) {
    throw DataError("an image of " + std::to_string(own.height) + " x " + std::to_string(own.width) +
                    " pixels is too narrow to be brought to " + std::to_string(height) + " x " + std::to_string(width));
  }
  return {static_cast<int>(height), static_cast<int>(width)};
}

struct CenterSettings {
  bool by_height = false;
  double margin = 1, known_share = 0.01;
  std::vector<double> fill;  // of a byte, for each channel
};

class CenterStep final : public Transform {
 public:
  CenterStep(const Extent& extent, CenterSettings settings) : extent_(extent), settings_(std::move(settings)) {}

  Sample apply(Sample sample, const SampleDraws&) const override {
    const ImageSize own = joint_size(sample);
    const double target = std::nearbyint(settings_.margin * static_cast<double>(std::min(extent_[0], extent_[1])));
    const double ratio = target / (settings_.by_height ? own.height : std::min(own.height, own.width));
    const ImageSize size = checked_size(own, std::nearbyint(own.height * ratio), std::nearbyint(own.width * ratio));
    const ImageSize crop{static_cast<int>(extent_[0]), static_cast<int>(extent_[1])};
    const int height = std::min(size.height, crop.height), width = std::min(size.width, crop.width);
    const Zoom zoom{size, {(size.height - height) / 2, (size.width - width) / 2, height, width}};
    const ZoomHow how{.filter = ratio < 1 ? Filter::kBox : Filter::kBicubic, .least_share = settings_.known_share};
    return padded(zoomed(std::move(sample), zoom, how), crop, settings_.fill);
  }
  // The sample, its image as rows of pixels, what is between the passes of resizing, and the new sample twice over.
  std::int64_t bytes(std::int64_t bytes) const override {
    constexpr std::int64_t kPixelBytes = 3 + 3 + 1 + 4;
    const auto shorter = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes)));
    return 3 * bytes + 3 * (shorter + 16) * extent_[1] + 2 * kPixelBytes * extent_[0] * extent_[1];
  }

 private:
  Extent extent_;
  CenterSettings settings_;
};

class WholeStep final : public Transform {
 public:
  WholeStep(std::int64_t shorter, double longer) : shorter_(static_cast<double>(shorter)), longer_(longer) {}

  Sample apply(Sample sample, const SampleDraws&) const override {
    const ImageSize own = joint_size(sample);
    const double ratio = std::min(std::floor(longer_ * shorter_) / std::max(own.height, own.width),
                                  shorter_ / std::min(own.height, own.width));
    const ImageSize size = checked_size(own, std::floor(own.height * ratio + 0.5), std::floor(own.width * ratio + 0.5));
    if (size == own) return sample;
    Tensor& image = sample.at(kImage);
    image = tensor_of(bilinear_window(image_of(image), size, {0, 0, size.height, size.width}));
    return sample;
  }
  // The sample, its image as rows of pixels, and the new image twice over.
  std::int64_t bytes(std::int64_t bytes) const override {
    return 2 * bytes + 2 * 3 * static_cast<std::int64_t>(shorter_ * longer_ * shorter_);
  }

 private:
  double shorter_, longer_;
};

class Dense final : public Input {
 public:
  Dense(const InputContext& context, const Options& options)
      : size_(options.integer("size")),
        whole_(options.text("view") == "whole"),
        longer_(options.number("longer")),
        normalization_(normalization_named(options.text("normalization"), context)),
        center_{.by_height = options.text("side") == "height",
                .margin = options.number("margin"),
                .known_share = options.number("known_share"),
                .fill = {}} {
    for (const double mean : normalization_.mean) center_.fill.push_back(std::nearbyint(255 * mean));
  }

  Extent extent() const override { return {size_, size_}; }
  const Normalization& normalization() const override { return normalization_; }
  Transforms preparation(const Extent& extent) const override {
    return {std::make_shared<CenterStep>(extent, center_)};
  }

  InputView view(const ViewRequest& request) const override {
    if (request.resize != "plain") {
      throw std::invalid_argument("input: dense resizes images in its own way; leave the evaluation's resize out");
    }
    const std::int64_t side = request.resolution > 0 ? request.resolution : size_;
    const Extent extent{side, side};
    if (!whole_) return {{extent, request.interpolation}, preparation(extent)};
    return {{.extent = extent, .interpolation = request.interpolation, .apart = true},
            {std::make_shared<WholeStep>(side, longer_)}};
  }

 private:
  std::int64_t size_;
  bool whole_;
  double longer_;
  Normalization normalization_;
  CenterSettings center_;
};

}  // namespace

InputItem dense() {
  Item item("input", "dense", 1,
            "Images with masks or depth, resized and cropped together, as ASG and mmsegmentation do");
  item.option(
      Option::integer("size", 336, "side of the crops that a model takes").minimum(1).maximum(4096).unit("pixels"));
  item.option(Option::text("view", "center",
                           "what an evaluation sees: the center of the resized image and of its target, or the whole "
                           "image, the target at its own size")
                  .choices({"center", "whole"}));
  item.option(Option::text("side", "shorter", "the side that comes to margin times the size")
                  .choices({"shorter", "height"})
                  .when("view", {"center"}));
  item.option(Option::number("margin", 1.0, "that side over the size, before the crop")
                  .minimum(0.1)
                  .maximum(10.0)
                  .when("view", {"center"}));
  item.option(Option::number("known_share", 0.01, "of the depth behind a pixel, what must be known for it to be known")
                  .minimum(0.0)
                  .maximum(1.0)
                  .when("view", {"center"}));
  item.option(Option::number("longer", 4.0, "most that the longer side may be, over the size")
                  .minimum(1.0)
                  .maximum(100.0)
                  .when("view", {"whole"}));
  item.option(normalization_option());
  item.set("requires",
           Json::array({{{"rule", "divides"}, {"of", "patch"}, {"into", "size"}, {"help", "patches tile the image"}},
                        normalization_rule()}));
  item.facts({{"extent", {{"option", "size"}}}});
  return {std::move(item), [](const InputContext& context, const Options& options) -> std::shared_ptr<const Input> {
            return std::make_shared<Dense>(context, options);
          }};
}

}  // namespace locus::engine::inputs

// What the augmentations share.
#include "engine/augmentation/chain.h"

#include <cmath>

#include "engine/data/joint.h"
#include "engine/data/pixels.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::string_view kWho = "this augmentation";
constexpr std::string_view kInstead = "write augmentation: asg-segmentation, asg-depth or mmseg";
constexpr double kFillWithoutMean = 128;  // timm's, where no mean is given

// timm fills with the mean that images are normalized by, in 8 bits.
std::vector<std::uint8_t> fill_of(const AugmentationContext& context) {
  std::vector<double> mean = context.normalization.mean;
  for (double& value : mean) value = std::clamp(std::nearbyint(255 * value), 0.0, 255.0);
  if (mean.empty()) mean = {kFillWithoutMean};
  if (mean.size() == 1) mean.resize(static_cast<std::size_t>(context.channels), mean[0]);
  if (mean.size() != static_cast<std::size_t>(context.channels)) {
    throw std::invalid_argument("images of " + std::to_string(context.channels) + " channels are normalized by " +
                                std::to_string(mean.size()) + " means; give one, or one for each channel");
  }
  return {mean.begin(), mean.end()};
}

ErasedBy erased_by(const std::string& mode) {
  if (mode == "pixel") return ErasedBy::kPixel;
  return mode == "rand" ? ErasedBy::kRandom : ErasedBy::kConstant;
}

}  // namespace

ImageAugmentation::ImageAugmentation(const AugmentationContext& context)
    : numbers_(context.channels * context.extent[0] * context.extent[1]) {}

Sample ImageAugmentation::apply(Sample sample, const SampleDraws& draws) const {
  refuse_targets(sample, kWho, kInstead);
  Tensor& image = sample.at(kImage);
  image = changed(TensorParts(image), draws);
  return sample;
}

Sample ImageAugmentation::begin(const UndecodedSample& undecoded, const SampleDraws& draws) const {
  Sample sample = undecoded.rest();
  refuse_targets(sample, kWho, kInstead);
  sample[kImage] = changed(undecoded, draws);
  return sample;
}

// The sample, its image as rows of pixels, what a crop has between its two passes, and at the new extent one image, the one
// it is made into, and the result twice over as float32.
std::int64_t ImageAugmentation::bytes(std::int64_t bytes) const { return 3 * bytes + (3 + 2 * kFloatBytes) * numbers_; }

void add_crop_options(Item& item, std::string_view other, const std::string& value) {
  const auto add = [&](const char* name, double fallback, double least, double most, const char* help) {
    Option option = Option::number(name, fallback, help).minimum(least).maximum(most);
    if (!other.empty()) option.when(other, {value});
    item.option(option);
  };
  add("scale_min", 0.08, 0.0001, 1.0, "smallest share of the image's area that is cropped");
  add("scale_max", 1.0, 0.0001, 1.0, "largest share of the area");
  add("ratio_min", 3.0 / 4, 0.01, 100.0, "smallest width over height of a crop");
  add("ratio_max", 4.0 / 3, 0.01, 100.0, "largest width over height of a crop");
  for (const char* name : {"scale", "ratio"}) {
    item.constraint({{"rule", "at-most"},
                     {"left", std::string(name) + "_min"},
                     {"right", std::string(name) + "_max"},
                     {"help", "the range begins below its end"}});
  }
}

CropRange crop_range(const Options& options) {
  const CropRange range{options.number("scale_min"), options.number("scale_max"), options.number("ratio_min"),
                        options.number("ratio_max")};
  if (range.least_area > range.most_area || range.least_ratio > range.most_ratio || range.least_area <= 0 ||
      range.least_ratio <= 0) {
    throw std::invalid_argument("a crop's scale and ratio are ranges of positive numbers, the smaller one first");
  }
  return range;
}

void add_flip_option(Item& item) {
  item.option(Option::number("flip", 0.5, "probability that left and right are exchanged").minimum(0.0).maximum(1.0));
}

Image maybe_flipped(Image image, double probability, const SampleDraws& draws) {
  return probability > 0 && draws.unit("flip") < probability ? flipped(image) : image;
}

void add_interpolation_option(Item& item) {
  item.option(Option::text("interpolation", "input",
                           "of the crop's resizing and of geometric operations: that of the input, or one of its own")
                  .choices({"input", "bilinear", "bicubic", "random"}));
}

Interpolations::Interpolations(const Options& options, const AugmentationContext& context)
    : name_(options.text("interpolation")) {
  if (name_ == "input") name_ = context.interpolation;
  if (name_ != "random") static_cast<void>(sampling_of(name_));
}

std::string Interpolations::drawn(const SampleDraws& draws) const {
  if (name_ != "random") return name_;
  return draws.unit("interpolation") < 0.5 ? "bilinear" : "bicubic";
}

void add_timm_options(Item& item, std::string_view policy, double erasing) {
  add_flip_option(item);
  item.option(
      Option::text("policy", policy,
                   "what else is done to the image, as timm spells it: rand-m9-mstd0.5-inc1, original, v0, or none"));
  item.option(
      Option::number("color_jitter", 0.3,
                     "largest change of brightness, contrast and saturation; a policy takes its place, as in timm")
          .minimum(0.0)
          .maximum(1.0));
  item.option(
      Option::number("erasing", erasing, "probability that a box of the image is erased").minimum(0.0).maximum(1.0));
  item.option(Option::text("erasing_mode", "pixel",
                           "what an erased box holds: noise in each pixel, one random color, or the constant 0")
                  .choices({"pixel", "rand", "const"}));
  item.option(Option::integer("erasing_count", 1, "most boxes that are erased").minimum(1).maximum(100));
}

TimmChain::TimmChain(const Options& options, const AugmentationContext& context)
    : flip_(options.number("flip")),
      jitter_{options.number("color_jitter"), options.number("color_jitter"), options.number("color_jitter")},
      erasing_{options.number("erasing"), erased_by(options.text("erasing_mode")), options.integer("erasing_count")},
      normalization_(context.normalization),
      fill_(fill_of(context)) {
  const std::string policy = options.text("policy");
  if (policy != "none") policy_ = timm_policy(policy, std::min(context.extent[0], context.extent[1]));
}

Tensor TimmChain::operator()(Image image, const std::string& interpolation, const SampleDraws& draws) const {
  image = maybe_flipped(std::move(image), flip_, draws);
  if (policy_) {
    image = policy_->apply(std::move(image), draws, {sampling_of(interpolation), fill_});
  } else {
    image = jittered(std::move(image), jitter_, draws);
  }
  const Tensor pixels = tensor_of(image);
  if (!normalizes()) return pixels;
  return erased(normalized(pixels, normalization_, at::kCPU), erasing_, draws);
}

}  // namespace locus::engine

// Means and deviations.
#include "engine/inputs/normalizations.h"

namespace locus::engine {
namespace {

// The numbers of ImageNet's training images that torchvision's and timm's models use.
const Normalization kImageNet{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

}  // namespace

Option normalization_option() {
  return Option::text("normalization", "dataset",
                      "mean and deviation of pixels / 255: the dataset's own, ImageNet's, 0.5 and 0.5 (half), or "
                      "none, pixels / 255 as they are")
      .choices({"dataset", "imagenet", "half", "none"});
}

Json normalization_rule() {
  return {{"rule", "multiple-of"},
          {"value", "channels"},
          {"factor", 3},
          {"when", {{"option", "normalization"}, {"values", Json::array({"imagenet"})}}},
          {"help", "ImageNet's mean and deviation are of three channels"}};
}

Normalization normalization_named(const std::string& name, const InputContext& context) {
  const auto channels = context.facts.at("channels").get<std::size_t>();
  const auto alike = [&](double mean, double deviation) {
    return Normalization{std::vector<double>(channels, mean), std::vector<double>(channels, deviation)};
  };
  if (name == "dataset") return context.normalization;
  if (name == "half") return alike(0.5, 0.5);
  if (name == "none") return alike(0, 1);
  if (channels != kImageNet.mean.size()) {
    throw std::invalid_argument("normalization: imagenet is of 3 channels, and the dataset's images have " +
                                std::to_string(channels) + "; write normalization: half");
  }
  return kImageNet;
}

}  // namespace locus::engine

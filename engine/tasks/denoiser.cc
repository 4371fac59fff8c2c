// The denoising network.
#include "engine/tasks/denoiser.h"

#include <ATen/ops/silu.h>

namespace locus::engine {
namespace {

// The side of the patches by the grid they make of an image of that extent.
std::int64_t patch_side(const Backbone& backbone, const std::vector<std::int64_t>& extent) {
  const std::vector<Layout> layouts = backbone.layouts(extent.at(0), extent.at(1));
  const std::vector<std::int64_t>& grid = layouts.back().extent;
  if (grid.size() != 2 || layouts.back().prefix != 0)
    throw std::invalid_argument("a denoising network needs a token for each patch of an image and no other");
  const std::int64_t side = extent[0] / grid[0];
  if (grid[0] * side != extent[0] || grid[1] * side != extent[1])
    throw std::invalid_argument("a denoising network needs square patches that tile the image");
  return side;
}

}  // namespace

FinalLayer::FinalLayer(std::int64_t width, std::int64_t patch, std::int64_t channels)
    : patch_(patch), channels_(channels) {
  norm_ = register_module("norm", std::make_shared<Norm>(width, 1e-6, /*affine=*/false));
  modulation_ = register_module("modulation", std::make_shared<Linear>(width, 2 * width));
  map_ = register_module("map", std::make_shared<Linear>(width, patch * patch * channels));
}

Tensor FinalLayer::forward(const Tensor& tokens, const Tensor& condition, const Layout& layout) const {
  const auto parts = modulation_->forward(at::silu(condition)).unsqueeze(1).chunk(2, -1);
  const Tensor numbers = map_->forward(norm_->forward(tokens) * (1 + parts[1]) + parts[0]);
  const std::int64_t rows = layout.extent.at(0), columns = layout.extent.at(1);
  return numbers.reshape({numbers.size(0), rows, columns, patch_, patch_, channels_})
      .permute({0, 5, 1, 3, 2, 4})
      .reshape({numbers.size(0), channels_, rows * patch_, columns * patch_});
}

void FinalLayer::initialize() {
  const at::NoGradGuard no_grad;
  for (const Tensor& parameter : parameters()) parameter.zero_();
}

std::int64_t FinalLayer::flops(const Layout& layout) const {
  return 2 * (modulation_->weight.numel() + layout.patches() * map_->weight.numel());
}

Denoiser::Denoiser(const Json& configuration, const InputFacts& input, const DenoiserOptions& options,
                   const RandomStreams& random, const std::string& path)
    : channels_(input.channels) {
  backbone_ = register_module("backbone", make_backbone(configuration, input, random, path));
  for (const StageInfo& stage : backbone_->stages()) {
    if (stage.condition) continue;
    throw std::invalid_argument("backbone " + configuration.at("model").at("id").get<std::string>() +
                                " follows no condition: it would not know how noisy an image is; take dit");
  }
  const std::int64_t width = backbone_->width();
  time_ = register_module("time", std::make_shared<TimeEmbedding>(width));
  label_ = register_module("label", std::make_shared<LabelEmbedding>(options.classes, width, options.label_drop));
  final_ = register_module("final", std::make_shared<FinalLayer>(width, patch_side(*backbone_, input.extent),
                                                                 channels_ * (options.learned_variance ? 2 : 1)));
  time_->initialize(Initializer(random, "time."));
  label_->initialize(Initializer(random, "label."));
  final_->initialize();
}

Tensor Denoiser::condition(const Given& given, const ForwardContext& context) const {
  return time_->forward(given.time) + label_->forward(given.label, context, given.dropped);
}

Features Denoiser::features(const Given& given, const Tensor& condition, const ForwardContext& context) const {
  Inputs inputs(given.image);
  inputs.condition.vector = condition;
  return backbone_->forward(inputs, context);
}

Tensor Denoiser::out(const Features& features, const Tensor& condition) const {
  return final_->forward(features.tokens, condition, features.layout);
}

Tensor Denoiser::forward(const Given& given, const ForwardContext& context) const {
  const Tensor followed = condition(given, context);
  return out(features(given, followed, context), followed);
}

Tensor Denoiser::guided(const Given& given, double scale, std::int64_t channels, const ForwardContext& context) const {
  if (channels < 1 || channels > channels_) {
    throw std::invalid_argument("guidance of " + std::to_string(channels) + " channels, and the noise has " +
                                std::to_string(channels_));
  }
  if (scale == 1) return forward(given, context);
  const auto twice = [](const Tensor& tensor) { return at::cat({tensor, tensor}); };
  const Given both{.image = twice(given.image),
                   .time = twice(given.time),
                   .label = at::cat({given.label, at::full_like(given.label, label_->null_label())})};
  const auto halves = forward(both, context).chunk(2);
  const Tensor with = halves[0].slice(1, 0, channels), without = halves[1].slice(1, 0, channels);
  return at::cat({without + scale * (with - without), halves[0].slice(1, channels)}, 1);
}

std::int64_t Denoiser::flops(std::int64_t height, std::int64_t width) const {
  return backbone_->flops(height, width) + time_->flops() + final_->flops(backbone_->layouts(height, width).back());
}

}  // namespace locus::engine

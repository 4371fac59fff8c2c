// A network of one stage on boxes or points.
#include "tests/engine/support/clip_model.h"

#include <cmath>

namespace locus::engine::test {
namespace {

constexpr std::int64_t kAxes = 3;

std::int64_t numbers_of_a_tubelet() { return kTestChannels * kTestTubelet[0] * kTestTubelet[1] * kTestTubelet[2]; }

StageInfo described(const ClipShape& shape) {
  const Layout whole =
      shape.points ? points_layout(kAxes, shape.prefix()) : tubelet_layout(shape.extent, kTestTubelet, shape.prefix());
  StageInfo out{.width = shape.dim, .grid = whole, .layers = {}};
  out.padded = shape.padded;
  for (std::int64_t l = 0; l < shape.depth; ++l) {
    out.layers.push_back({.layer = l,
                          .layers = shape.depth,
                          .width = shape.dim,
                          .heads = shape.heads,
                          .hidden = shape.dim,
                          .scale = 1 / std::sqrt(static_cast<double>(shape.dim / shape.heads)),
                          .reference = whole});
  }
  return out;
}

}  // namespace

ClipModel::ClipModel(const BackboneContext& context, const ClipShape& shape) : shape_(shape) {
  embed_ = register_module("embed", context.linear("embed", numbers_of_a_tubelet(), shape.dim, true));
  if (shape.pool == "cls") class_token_ = register_parameter("class_token", at::empty({1, shape.dim}));
  if (shape.registers > 0) registers_ = register_parameter("registers", at::empty({shape.registers, shape.dim}));
  build_priors(context, {described(shape)});
  const auto container = register_module("blocks", std::make_shared<Module>());
  for (const LayerInfo& info : stages()[0].layers) {
    const BlockOptions options{.info = info, .attention = {.path = context.path}};
    add_block(*container, "blocks", info.layer, options, context.linear);
  }
  norm_ = register_module("norm", std::make_shared<Norm>(shape.dim));
  initialize(context.random, truncated_normal(0.1));
  const Initializer whole(context.random, "");
  if (class_token_.defined()) whole.truncated_normal(class_token_, "class_token", 0.1);
  if (registers_.defined()) whole.truncated_normal(registers_, "registers", 0.1);
}

Features ClipModel::forward(const Inputs& inputs, const ForwardContext& context) {
  const Tensor& video = inputs.image;
  const Layout layout = tubelet_layout(video.sizes().slice(2).vec(), kTestTubelet, shape_.prefix());
  return run(tubelets_of(video, kTestTubelet), layout, context);
}

Features ClipModel::run(const Tensor& rows, const Layout& layout, const ForwardContext& context) {
  begin_forward({layout}, context);
  Tensor x = embedded(Site::kBeforePrefix, embed_->forward(rows), layout, context);
  x = embedded(Site::kAfterPrefix, with_prefix(x), layout, context);
  const Inputs inputs(rows);
  Features features;
  for (std::int64_t l = 0; l < shape_.depth; ++l) x = run_block(l, x, layout, inputs, context, features);
  features.stages.push_back({x, layout});
  finish(features, norm_->forward(x));
  return features;
}

std::vector<Layout> ClipModel::layouts(std::int64_t height, std::int64_t width) const {
  return {tubelet_layout({kTestTubelet[0], height, width}, kTestTubelet, shape_.prefix())};
}

std::int64_t ClipModel::flops(std::int64_t height, std::int64_t width) const {
  std::int64_t sum = 0;
  for (const auto& block : blocks()) sum += block->flops(layouts(height, width)[0]);
  return sum;
}

Tensor ClipModel::with_prefix(const Tensor& patches) const {
  std::vector<Tensor> parts;
  for (const Tensor& tokens : {class_token_, registers_}) {
    if (tokens.defined()) parts.push_back(tokens.unsqueeze(0).expand({patches.size(0), -1, -1}));
  }
  parts.push_back(patches);
  return at::cat(parts, 1);
}

std::shared_ptr<ClipModel> clip_model(const std::vector<PriorSetting>& priors, const ClipShape& shape,
                                      const std::string& path, std::uint64_t seed) {
  const RandomStreams random(seed);
  BackboneContext context{.input = {kTestChannels, shape.extent}, .priors = {}, .random = random, .path = path};
  for (const PriorSetting& prior : priors) context.priors.push_back({.id = prior.id, .options = prior.options});
  return std::make_shared<ClipModel>(context, shape);
}

Tensor test_videos(std::int64_t count, const std::vector<std::int64_t>& extent) {
  return RandomStreams(7).normal("test", "videos", 0, {count, kTestChannels, extent[0], extent[1], extent[2]});
}

}  // namespace locus::engine::test

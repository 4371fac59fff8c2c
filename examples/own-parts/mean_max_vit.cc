// A ViT whose head reads, of each channel, the mean over the patches and the largest of them: an outline is there when one
// patch shows it, whatever the others show.
//
//   pooled = [mean_i x_i, max_i x_i], [B, 2 D]
//
// Without a class token. Blocks, initialization and final norm are those of the ViT of Locus.
#include "engine/plugin/plugin.h"

namespace {

using namespace locus::engine;

class MeanMaxVit final : public Backbone {
 public:
  MeanMaxVit(const BackboneContext& context, const Options& options)
      : dim_(options.integer("dim")), patch_(options.integer("patch")) {
    const std::int64_t heads = options.integer("heads");
    if (dim_ % heads != 0) {
      throw std::invalid_argument("backbone mean-max-vit: heads " + std::to_string(heads) + " must divide dim " +
                                  std::to_string(dim_));
    }
    const std::int64_t inputs = context.input.channels * patch_ * patch_;
    embed_ = register_module("embed", context.linear("embed", inputs, dim_, /*with_bias=*/true));
    const Layout grid = layouts(context.input.extent.at(0), context.input.extent.at(1)).front();
    StageInfo stage{.width = dim_, .grid = grid, .layers = {}};
    const std::int64_t depth = options.integer("depth");
    for (std::int64_t l = 0; l < depth; ++l) {
      stage.layers.push_back({.layer = l,
                              .layers = depth,
                              .width = dim_,
                              .heads = heads,
                              .hidden = 4 * dim_,
                              .scale = 1 / std::sqrt(static_cast<double>(dim_ / heads)),
                              .reference = grid});
    }
    build_priors(context, {stage});
    const auto container = register_module("blocks", std::make_shared<Module>());
    for (const LayerInfo& info : stages()[0].layers)
      add_block(*container, "blocks", info.layer, {.info = info, .attention = {.path = context.path}}, context.linear);
    norm_ = register_module("norm", std::make_shared<Norm>(dim_));
    initialize(context.random, truncated_normal(0.05));
  }

  Features forward(const Inputs& inputs, const ForwardContext& context) override {
    refuse_hidden(inputs);
    const Layout layout = layouts(inputs.image.size(2), inputs.image.size(3)).front();
    begin_forward({layout}, context);
    Tensor x = embed_->forward(patches_of(inputs, patch_));
    x = embedded(Site::kBeforePrefix, x, layout, context);
    x = embedded(Site::kAfterPrefix, x, layout, context);
    Features features;
    for (const LayerInfo& info : stages()[0].layers) x = run_block(info.layer, x, layout, inputs, context, features);
    features.stages.push_back({x, layout});
    finish(features, final_norm(x));
    return features;
  }

  Tensor pooled(const Features& features) const override {
    return at::cat({features.tokens.mean(1), features.tokens.amax(1)}, 1);
  }
  std::int64_t width() const override { return dim_; }
  std::int64_t pooled_width() const override { return 2 * dim_; }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    if (height % patch_ != 0 || width % patch_ != 0) {
      throw std::invalid_argument("backbone mean-max-vit: patch " + std::to_string(patch_) +
                                  " must divide an image of " + std::to_string(height) + " x " + std::to_string(width) +
                                  " pixels");
    }
    return {{{height / patch_, width / patch_}, 0}};
  }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    const Layout layout = layouts(height, width).front();
    std::int64_t sum = 2 * layout.patches() * embed_->weight.numel();
    for (const auto& block : blocks()) sum += block->flops(layout);
    return sum;
  }

 private:
  Tensor final_norm(const Tensor& tokens) const override { return norm_->forward(tokens); }

  std::int64_t dim_, patch_;
  std::shared_ptr<Linear> embed_;
  std::shared_ptr<Norm> norm_;
};

BackboneItem mean_max_vit() {
  Item item("backbone", "mean-max-vit", 1, "A plain ViT whose head reads the mean and the largest of the patches");
  item.option(Option::integer("dim", 64, "width of a token").minimum(1).maximum(4096));
  item.option(Option::integer("depth", 3, "number of blocks").minimum(1).maximum(64));
  item.option(Option::integer("heads", 4, "attention heads").minimum(1).maximum(64));
  item.option(Option::integer("patch", 4, "side of a patch").minimum(1).maximum(64).unit("pixels"));
  return {std::move(item), [](const BackboneContext& context, const Options& options) -> std::shared_ptr<Backbone> {
            return std::make_shared<MeanMaxVit>(context, options);
          }};
}

}  // namespace

LOCUS_BACKBONE(mean_max_vit)

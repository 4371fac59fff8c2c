// A network of two stages: blocks in shifted windows, then patches merged two by two and blocks that see all of them.
// (After Liu et al. 2021, arXiv:2103.14030, which has four such stages.)
#include <cmath>

#include "engine/backbones/backbone.h"

namespace locus::engine::toys {
namespace {

struct TwoStageSettings {
  std::vector<std::int64_t> dims, depths, heads;  // of each stage
  std::int64_t patch;
  std::vector<std::int64_t> window, shift;  // of the first stage; its even blocks are not shifted

  std::int64_t depth() const { return depths[0] + depths[1]; }
  Partition partition(std::int64_t block) const {
    if (window.empty()) return {};
    return {window, block % 2 == 1 ? shift : std::vector<std::int64_t>(window.size(), 0)};
  }
};

// Four patches become one of twice the width: the numbers of (0, 0), (1, 0), (0, 1), (1, 1) side by side, a norm, a
// map. Odd sides get a row or column of zeros.
class TwoStageMerging : public Module {
 public:
  TwoStageMerging(std::int64_t width, std::int64_t out, const LinearFactory& linear, const std::string& name) {
    norm_ = register_module("norm", std::make_shared<Norm>(4 * width));
    map_ = register_module("map", linear(name + ".map", 4 * width, out, /*with_bias=*/false));
  }

  // [B, N, D] of a grid -> [B, N', D']
  Tensor forward(const Tensor& tokens, const Layout& layout) {
    const std::int64_t rows = layout.extent[0], columns = layout.extent[1];
    const Tensor grid = at::constant_pad_nd(tokens.unflatten(1, {rows, columns}), {0, 0, 0, columns % 2, 0, rows % 2});
    const Tensor cells = grid.unflatten(2, {-1, 2}).unflatten(1, {-1, 2});  // [B, rows, 2, columns, 2, D]
    return map_->forward(norm_->forward(cells.permute({0, 1, 3, 4, 2, 5}).flatten(3).flatten(1, 2)));
  }

  std::int64_t flops(std::int64_t tokens) const { return 2 * tokens * map_->weight.numel(); }

 private:
  std::shared_ptr<Norm> norm_;
  std::shared_ptr<Linear> map_;
};

class TwoStage final : public Backbone {
 public:
  TwoStage(const BackboneContext& context, TwoStageSettings settings) : settings_(std::move(settings)) {
    const std::int64_t patch = settings_.patch;
    embed_ = register_module("embed",
                             context.linear("embed", context.input.channels * patch * patch, settings_.dims[0], true));
    build_priors(context, describe(context.input.extent));
    const auto container = register_module("stages", std::make_shared<Module>());
    for (const StageInfo& stage : stages()) {
      const std::string name = "stages." + std::to_string(stage.index);
      const auto module = container->register_module(std::to_string(stage.index), std::make_shared<Module>());
      if (stage.index > 0) {
        merging_ = module->register_module("entry", std::make_shared<TwoStageMerging>(settings_.dims[0], stage.width,
                                                                                      context.linear, name + ".entry"));
      }
      const auto blocks = module->register_module("blocks", std::make_shared<Module>());
      for (std::size_t i = 0; i < stage.layers.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i);
        BlockOptions block{.info = stage.layers[i], .attention = {.path = context.path}};
        if (stage.index == 0) block.attention.partition = settings_.partition(place);
        add_block(*blocks, name + ".blocks", place, block, context.linear);
      }
    }
    norm_ = register_module("norm", std::make_shared<Norm>(width()));
    initialize(context.random, truncated_normal(0.1));
  }

  Features forward(const Inputs& inputs, const ForwardContext& context) override {
    refuse_hidden(inputs);
    const std::vector<Layout> layouts = this->layouts(inputs.image.size(2), inputs.image.size(3));
    begin_forward(layouts, context);
    Tensor x = embed_->forward(patches_of(inputs.image, settings_.patch));
    for (const Site site : {Site::kBeforePrefix, Site::kAfterPrefix}) x = embedded(site, x, layouts[0], context);
    Features features;
    for (const StageInfo& stage : stages()) {
      const Layout& layout = layouts[static_cast<std::size_t>(stage.index)];
      if (stage.index > 0) x = merging_->forward(x, layouts[0]);
      for (const LayerInfo& info : stage.layers) x = run_block(info.layer, x, layout, inputs, context, features);
      features.stages.push_back({x, layout});
    }
    finish(features, norm_->forward(x));
    return features;
  }

  Tensor pooled(const Features& features) const override { return features.tokens.mean(1); }
  std::int64_t width() const override { return settings_.dims[1]; }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    const std::int64_t p = settings_.patch;
    if (height % p != 0 || width % p != 0)
      throw std::invalid_argument("backbone two-stage: patch " + std::to_string(p) + " must divide the image");
    const std::int64_t rows = height / p, columns = width / p;
    return {{{rows, columns}, 0}, {{(rows + 1) / 2, (columns + 1) / 2}, 0}};
  }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    const std::vector<Layout> layouts = this->layouts(height, width);
    std::int64_t sum = 2 * layouts[0].patches() * embed_->weight.numel() + merging_->flops(layouts[1].patches());
    for (const auto& block : blocks()) sum += block->flops(layouts[static_cast<std::size_t>(block->info().stage)]);
    return sum;
  }

 private:
  std::vector<StageInfo> describe(const std::vector<std::int64_t>& extent) const {
    const std::vector<Layout> grids = layouts(extent.at(0), extent.at(1));
    std::vector<StageInfo> out;
    std::int64_t layer = 0;
    for (std::size_t s = 0; s < 2; ++s) {
      StageInfo stage{.index = static_cast<std::int64_t>(s),
                      .stages = 2,
                      .width = settings_.dims[s],
                      .grid = grids[s],
                      .layers = {}};
      stage.windows = s == 0 && !settings_.window.empty();
      for (std::int64_t i = 0; i < settings_.depths[s]; ++i, ++layer) {
        stage.masked = stage.masked || (s == 0 && settings_.partition(i).masks());
        stage.layers.push_back({.layer = layer,
                                .layers = settings_.depth(),
                                .stage = stage.index,
                                .width = stage.width,
                                .heads = settings_.heads[s],
                                .hidden = 2 * stage.width,
                                .scale = 1 / std::sqrt(static_cast<double>(stage.width / settings_.heads[s])),
                                .reference = stage.windows ? Layout{settings_.window, 0} : grids[s]});
      }
      out.push_back(std::move(stage));
    }
    return out;
  }

  TwoStageSettings settings_;
  std::shared_ptr<Linear> embed_;
  std::shared_ptr<TwoStageMerging> merging_;
  std::shared_ptr<Norm> norm_;
};

}  // namespace

BackboneItem two_stage() {
  Item item("backbone", "two-stage", 1, "Blocks in shifted windows, then merged patches and blocks that see all");
  item.option(Option::list("dims", "integer", {16, 32}, "width of each stage"));
  item.option(Option::list("depths", "integer", {2, 2}, "blocks of each stage"));
  item.option(Option::list("heads", "integer", {4, 4}, "attention heads of each stage"));
  item.option(Option::integer("patch", 2, "side of a patch"));
  item.option(Option::list("window", "integer", {3, 3}, "rows and columns of a window of the first stage; none: all"));
  item.option(Option::list("shift", "integer", {1, 1}, "by how much every other block of it shifts them"));
  item.facts({{"stages", {{"option", "dims"}, {"each", {{"dim", "dims"}, {"heads", "heads"}}}}}});
  return {item, [](const BackboneContext& context, const Options& o) -> std::shared_ptr<Backbone> {
            return std::make_shared<TwoStage>(
                context, TwoStageSettings{o.integers("dims"), o.integers("depths"), o.integers("heads"),
                                          o.integer("patch"), o.integers("window"), o.integers("shift")});
          }};
}

}  // namespace locus::engine::toys

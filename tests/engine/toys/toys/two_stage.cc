// A network of two stages: blocks in shifted windows, then patches merged two by two and blocks that see all of them.
// (After Liu et al. 2021, arXiv:2103.14030, which has four such stages.)
#include "engine/backbones/staged.h"

namespace locus::engine::toys {
namespace {

struct TwoStageSettings {
  std::vector<std::int64_t> dims, depths, heads;  // of each stage
  std::int64_t patch;
  std::vector<std::int64_t> window, shift;  // of the first stage; its even blocks are not shifted

  Partition partition(std::int64_t block) const {
    if (window.empty()) return {};
    return {window, block % 2 == 1 ? shift : std::vector<std::int64_t>(window.size(), 0)};
  }
};

// Four patches become one of twice the width: the numbers of (0, 0), (1, 0), (0, 1), (1, 1) side by side, a norm, a
// map. Odd sides get a row or column of zeros.
class TwoStageMerging final : public StageEntry {
 public:
  TwoStageMerging(std::int64_t width, std::int64_t out, const LinearFactory& linear, const std::string& name) {
    norm_ = register_module("norm", std::make_shared<Norm>(4 * width));
    map_ = register_module("map", linear(name + ".map", 4 * width, out, /*with_bias=*/false));
  }

  Tensor forward(const Tensor& tokens, const Layout& layout, const ForwardContext& /*context*/) override {
    const std::int64_t rows = layout.extent[0], columns = layout.extent[1];
    const Tensor grid = at::constant_pad_nd(tokens.unflatten(1, {rows, columns}), {0, 0, 0, columns % 2, 0, rows % 2});
    const Tensor cells = grid.unflatten(2, {-1, 2}).unflatten(1, {-1, 2});  // [B, rows, 2, columns, 2, D]
    return map_->forward(norm_->forward(cells.permute({0, 1, 3, 4, 2, 5}).flatten(3).flatten(1, 2)));
  }

  std::int64_t flops(const Layout& layout) const override {
    return 2 * ((layout.extent[0] + 1) / 2) * ((layout.extent[1] + 1) / 2) * map_->weight.numel();
  }

 private:
  std::shared_ptr<Norm> norm_;
  std::shared_ptr<Linear> map_;
};

class TwoStage final : public StagedBackbone {
 public:
  TwoStage(const BackboneContext& context, TwoStageSettings settings) : settings_(std::move(settings)) {
    const std::int64_t patch = settings_.patch;
    embed_ = register_module("embed",
                             context.linear("embed", context.input.channels * patch * patch, settings_.dims[0], true));
    build_stages(
        context, describe(context.input.extent),
        [&](const StageInfo& from, const StageInfo& to, const std::string& name) {
          return std::make_shared<TwoStageMerging>(from.width, to.width, context.linear, name);
        },
        [&](const StageInfo& stage, std::int64_t place) {
          BlockOptions block{.info = stage.layers[static_cast<std::size_t>(place)],
                             .attention = {.path = context.path}};
          if (stage.index == 0) block.attention.partition = settings_.partition(place);
          return block;
        });
    norm_ = register_module("norm", std::make_shared<Norm>(width()));
    initialize(context.random, truncated_normal(0.1));
  }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    const std::int64_t p = settings_.patch;
    if (height % p != 0 || width % p != 0)
      throw std::invalid_argument("backbone two-stage: patch " + std::to_string(p) + " must divide the image");
    const std::int64_t rows = height / p, columns = width / p;
    return {{{rows, columns}, 0}, {{(rows + 1) / 2, (columns + 1) / 2}, 0}};
  }

 private:
  Tensor stem(const Tensor& image, const ForwardContext& /*context*/) override {
    return embed_->forward(patches_of(image, settings_.patch));
  }
  std::int64_t stem_flops(std::int64_t height, std::int64_t width) const override {
    return 2 * layouts(height, width)[0].patches() * embed_->weight.numel();
  }
  Tensor final_norm(const Tensor& tokens) const override { return norm_->forward(tokens); }

  std::vector<StageInfo> describe(const std::vector<std::int64_t>& extent) const {
    StageSizes sizes{settings_.dims, settings_.depths, settings_.heads, {}};
    for (const std::int64_t width : sizes.dims) sizes.hidden.push_back(2 * width);
    sizes.check("two-stage");
    std::vector<StageInfo> out = sizes.describe(layouts(extent.at(0), extent.at(1)));
    if (settings_.window.empty()) return out;
    StageInfo& first = out[0];
    first.windows = true;
    for (std::int64_t i = 0; i < settings_.depths[0]; ++i) {
      first.masked = first.masked || settings_.partition(i).masks();
      first.layers[static_cast<std::size_t>(i)].reference = Layout{settings_.window, 0};
    }
    return out;
  }

  TwoStageSettings settings_;
  std::shared_ptr<Linear> embed_;
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

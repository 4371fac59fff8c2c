// The token decoder of Active Spatial Guidance (segmentation): a pyramid over the tokens of four blocks, after UPerNet (Xiao et
// al. 2018, arXiv:1807.10221), with group norm, laterals on all levels, the pooling behind the lateral of the last, one more
// convolution on the last, and no second head.
//
//   logits = Conv1x1(Dropout2d(0.1)(Pyramid(x)))
//
// whose laterals are unit_1 and whose other units are unit_3, unit_k = Conv k x k without bias - GroupNorm(32) - ReLU. First
// weights are PyTorch's.
#include "engine/decoders/items.h"
#include "engine/decoders/units.h"

namespace locus::engine::decoders {
namespace {

class TokenPyramid final : public Decoder {
 public:
  TokenPyramid(const DecoderContext& context, const Options& options) : drop_(options.number("dropout")) {
    const std::int64_t width = options.integer("width");
    const auto levels = static_cast<std::int64_t>(context.widths.size());
    const auto laterals = register_module("lateral_convs", std::make_shared<Module>());
    const auto outs = register_module("fpn_convs", std::make_shared<Module>());
    for (std::int64_t i = 0; i < levels; ++i) {
      const std::string name = std::to_string(i);
      pyramid_.laterals.push_back(
          laterals->register_module(name, group_unit(context.widths[static_cast<std::size_t>(i)], width, 1)));
      pyramid_.outs.push_back(outs->register_module(name, group_unit(width, width, 3)));
    }
    const auto pooled = register_module("ppm", std::make_shared<Module>());
    for (std::size_t i = 0; i < std::size(PyramidPooling::kCells); ++i)
      pyramid_.pooling.units.push_back(pooled->register_module(std::to_string(i), group_unit(width, width, 1)));
    const auto parts = static_cast<std::int64_t>(pyramid_.pooling.units.size()) + 1;
    pyramid_.pooling.joint = register_module("ppm_bottleneck", group_unit(parts * width, width, 3));
    pyramid_.joint = register_module("fuse", group_unit(levels * width, width, 3));
    classifier_ = register_module("classifier", std::make_shared<Convolution>(width, context.outputs, 1, 1, 0));
  }

  Decoded forward(const std::vector<Tensor>& maps, const MapExtent&, const ForwardContext& context) override {
    const Tensor joined = pyramid_.forward(maps, context.training);
    return {classifier_->forward(dropped_channels(joined, drop_, "decoder", context))};
  }

  std::int64_t flops(const std::vector<MapExtent>& grids, const MapExtent&) const override {
    return pyramid_.flops(grids) + classifier_->flops(places_of(grids[0]));
  }

  void start(const Initializer& own) override { start_parts(*this, own); }

 private:
  double drop_;
  Pyramid pyramid_;
  std::shared_ptr<Convolution> classifier_;
};

}  // namespace

DecoderItem token_pyramid() {
  Item item("decoder", "token-pyramid", 1,
            "Active Spatial Guidance's token decoder: pyramid pooling and a pyramid over four maps, group norm");
  add_levels(item, 256);
  add_pyramid(item);
  item.set("paper", "Active Spatial Guidance");
  item.set("requires", pyramid_rules());
  item.facts(
      {{"maps", 4},
       {"tasks", dense_tasks()},
       {"costs",
        {{"parameters",
          "level_norms + width_sum * width + levels * (9 * width ^ 2 + 4 * width) + 4 * (width ^ 2 + 2 * width) + 45 * "
          "width ^ 2 + 2 * width + 9 * levels * width ^ 2 + 2 * width + (width + 1) * outputs"},
         {"flops",
          "2 * width_cells * width + 18 * cells_sum * width ^ 2 + 100 * width ^ 2 + 90 * cells_last * width ^ 2 + 18 * "
          "levels * cells_0 * width ^ 2 + 2 * cells_0 * width * outputs"},
         {"activations", "width * (6 * cells_sum + 13 * cells_last + (levels + 3) * cells_0) + cells_0 * outputs"}}}});
  return {std::move(item), DecoderInput::kPyramid,
          [](const DecoderContext& context, const Options& options) -> std::shared_ptr<Decoder> {
            return std::make_shared<TokenPyramid>(context, options);
          }};
}

}  // namespace locus::engine::decoders

// UPerNet (Xiao et al. 2018, arXiv:1807.10221) as mmsegmentation has it, with the FCN head beside it that helps to train it.
//
//   logits = Conv1x1(Dropout2d(0.1)(Pyramid(x)))
//   auxiliary = Conv1x1(Dropout2d(0.1)(cu_3(x_a)))
//
// with laterals cu_1 and outs cu_3 on all levels but the last, cu_k = Conv k x k without bias - BatchNorm - ReLU. Convolutions
// start normal with deviation sqrt(2 / fan-out), the last maps with 0.01. Of maps on one grid (ViT) x_a is the last of four;
// mmsegmentation reads the third stage of Swin.
#include "engine/decoders/items.h"
#include "engine/decoders/units.h"

namespace locus::engine::decoders {
namespace {

constexpr double kSegDeviation = 0.01;
constexpr const char* kAuxiliary = "auxiliary_head";

class UperNet final : public Decoder {
 public:
  UperNet(const DecoderContext& context, const Options& options)
      : drop_(options.number("dropout")), read_(static_cast<std::size_t>(options.integer("auxiliary_level"))) {
    build_head(context, options.integer("width"));
    if (!options.boolean("auxiliary")) return;
    if (read_ >= context.widths.size()) {
      throw std::invalid_argument("decoder upernet: auxiliary_level is " + std::to_string(read_) +
                                  ", and the maps are counted from 0 to " + std::to_string(context.widths.size() - 1));
    }
    const std::int64_t width = options.integer("auxiliary_width");
    const auto head = register_module(kAuxiliary, std::make_shared<Module>());
    auxiliary_ = head->register_module("convs", std::make_shared<Module>())
                     ->register_module("0", batch_unit(context.widths[read_], width, 3));
    auxiliary_map_ = head->register_module("conv_seg", std::make_shared<Convolution>(width, context.outputs, 1, 1, 0));
  }

  Decoded forward(const std::vector<Tensor>& maps, const MapExtent&, const ForwardContext& context) override {
    if (context.training && maps.at(0).size(0) < 2) {
      throw std::invalid_argument(
          "decoder upernet normalizes over the batch, behind a pooling to one cell, and cannot train on one image at a "
          "time; raise train.batch to 2 or more, or lower train.accumulate");
    }
    const Tensor joined = pyramid_.forward(maps, context.training);
    Decoded out{map_->forward(dropped_channels(joined, drop_, "decoder", context))};
    if (auxiliary_ && context.training) {
      const Tensor beside = auxiliary_->forward(maps.at(read_), context.training);
      out.auxiliary = auxiliary_map_->forward(dropped_channels(beside, drop_, "auxiliary", context));
    }
    return out;
  }

  std::int64_t flops(const std::vector<MapExtent>& grids, const MapExtent&) const override {
    return pyramid_.flops(grids) + map_->flops(places_of(grids[0]));
  }

  bool training_only(std::string_view name) const override { return name.starts_with(kAuxiliary); }

  void start(const Initializer& own) override {
    start_parts(*this, own);
    start_map(*map_, own.within("decode_head.conv_seg"));
    if (auxiliary_map_) start_map(*auxiliary_map_, own.within(std::string(kAuxiliary) + ".conv_seg"));
  }

 private:
  void build_head(const DecoderContext& context, std::int64_t width) {
    const auto levels = static_cast<std::int64_t>(context.widths.size());
    const auto head = register_module("decode_head", std::make_shared<Module>());
    const auto pooled = head->register_module("psp_modules", std::make_shared<Module>());
    const std::int64_t top = context.widths.back();
    for (std::size_t i = 0; i < std::size(PyramidPooling::kCells); ++i) {
      const auto place = pooled->register_module(std::to_string(i), std::make_shared<Module>());
      pyramid_.pooling.units.push_back(place->register_module("1", batch_unit(top, width, 1)));
    }
    const auto parts = static_cast<std::int64_t>(pyramid_.pooling.units.size());
    pyramid_.pooling.joint = head->register_module("bottleneck", batch_unit(top + parts * width, width, 3));
    const auto laterals = head->register_module("lateral_convs", std::make_shared<Module>());
    const auto outs = head->register_module("fpn_convs", std::make_shared<Module>());
    for (std::int64_t i = 0; i + 1 < levels; ++i) {
      const std::string name = std::to_string(i);
      pyramid_.laterals.push_back(
          laterals->register_module(name, batch_unit(context.widths[static_cast<std::size_t>(i)], width, 1)));
      pyramid_.outs.push_back(outs->register_module(name, batch_unit(width, width, 3)));
    }
    pyramid_.joint = head->register_module("fpn_bottleneck", batch_unit(levels * width, width, 3));
    map_ = head->register_module("conv_seg", std::make_shared<Convolution>(width, context.outputs, 1, 1, 0));
  }

  static void start_map(Convolution& map, const Initializer& own) {
    const at::NoGradGuard no_gradient;
    own.normal(map.weight, "weight", 0, kSegDeviation);
    map.bias.zero_();
  }

  double drop_;
  std::size_t read_;  // the map that the auxiliary head reads
  Pyramid pyramid_;
  std::shared_ptr<ConvUnit> auxiliary_;  // null, as its map, where there is no auxiliary head
  std::shared_ptr<Convolution> map_, auxiliary_map_;
};

}  // namespace

DecoderItem upernet() {
  Item item("decoder", "upernet", 1,
            "UPerNet as mmsegmentation has it: pyramid pooling and a pyramid, batch norm, an FCN head beside it");
  add_levels(item, 512);
  item.option(
      Option::boolean("auxiliary", true, "a second head, which training alone has, learns the same from one map"));
  item.option(Option::integer("auxiliary_width", 256, "channels of the second head")
                  .minimum(1)
                  .maximum(4096)
                  .when("auxiliary", {"true"}));
  item.option(Option::integer("auxiliary_level", 3, "the map that it reads, counted from 0; of Swin's stages 2")
                  .minimum(0)
                  .maximum(63)
                  .when("auxiliary", {"true"}));
  add_pyramid(item);
  item.set("paper", "UPerNet");
  Json rules = pyramid_rules();
  rules.push_back({{"rule", "at-least"},
                   {"value", "batch"},
                   {"least", 2},
                   {"help", "it normalizes over the images of a batch; raise train.batch"}});
  item.set("requires", std::move(rules));
  item.facts(
      {{"maps", 4},
       {"tasks", dense_tasks()},
       {"costs",
        {{"parameters",
          "level_norms + 4 * (width_last * width + 2 * width) + 9 * (width_last + 4 * width) * width + 2 * width + "
          "(width_sum - width_last) * width + (levels - 1) * (9 * width ^ 2 + 4 * width) + 9 * levels * width ^ 2 + 2 "
          "* "
          "width + (width + 1) * outputs"},
         {"training_only",
          "auxiliary * (9 * tapped_width * auxiliary_width + 2 * auxiliary_width + (auxiliary_width + 1) * outputs)"},
         {"flops",
          "100 * width_last * width + 18 * cells_last * (width_last + 4 * width) * width + 2 * (width_cells - "
          "width_last "
          "* cells_last) * width + 18 * (cells_sum - cells_last) * width ^ 2 + 18 * levels * cells_0 * width ^ 2 + 2 * "
          "cells_0 * width * outputs"},
         {"activations",
          "width * (6 * cells_sum + 9 * cells_last + (levels + 3) * cells_0) + width_last * cells_last + cells_0 * "
          "outputs"}}}});
  return {std::move(item), DecoderInput::kPyramid,
          [](const DecoderContext& context, const Options& options) -> std::shared_ptr<Decoder> {
            return std::make_shared<UperNet>(context, options);
          }};
}

}  // namespace locus::engine::decoders

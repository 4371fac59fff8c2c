// One linear map of every patch's token after the final norm: Segmenter's linear decoder (Strudel et al. 2021,
// arXiv:2105.05633, section 3.2), and the linear probes of DINOv2.
//
// As the head of classification it starts with normal weights of deviation 0.02, cut at -2 and 2, and biases 0.
#include "engine/decoders/items.h"
#include "engine/decoders/units.h"

namespace locus::engine::decoders {
namespace {

constexpr double kLinearDeviation = 0.02;

class LinearDecoder final : public Decoder {
 public:
  explicit LinearDecoder(const DecoderContext& context)
      : map_(register_module("map", std::make_shared<Convolution>(context.widths.at(0), context.outputs, 1, 1, 0))) {}

  Decoded forward(const std::vector<Tensor>& maps, const MapExtent&, const ForwardContext&) override {
    return {map_->forward(maps.at(0))};
  }
  std::int64_t flops(const std::vector<MapExtent>& grids, const MapExtent&) const override {
    return map_->flops(places_of(grids.at(0)));
  }
  void start(const Initializer& own) override {
    const at::NoGradGuard no_gradient;
    own.truncated_normal(map_->weight, "map.weight", kLinearDeviation);
    map_->bias.zero_();
  }

 private:
  std::shared_ptr<Convolution> map_;
};

}  // namespace

DecoderItem linear() {
  Item item("decoder", "linear", 1, "What the task makes of features by one linear map: of each patch in dense tasks");
  item.facts({{"costs",
               {{"parameters", "(width_0 + 1) * outputs"},
                {"flops", "2 * cells_0 * width_0 * outputs"},
                {"activations", "cells_0 * outputs"}}}});
  return {std::move(item), DecoderInput::kLast,
          [](const DecoderContext& context, const Options&) -> std::shared_ptr<Decoder> {
            return std::make_shared<LinearDecoder>(context);
          }};
}

}  // namespace locus::engine::decoders

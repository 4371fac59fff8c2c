// The drill's prior: later patches of the raster weigh more.
//
//   L = c q k^T + slope j, j the raster index of the key's patch; prefix tokens get 0
//
// No paper: it exists to be added (tests/engine/drill/adding_a_prior).
#include <c10/core/InferenceMode.h>

#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

class DrillRampLayer final : public PriorLayer {
 public:
  explicit DrillRampLayer(double slope) : slope_(slope) {}

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const c10::InferenceMode normal_tensors(false);  // the term is kept, and may meet a training step later
    const std::int64_t prefix = inputs.layout.prefix, tokens = inputs.layout.tokens();
    const at::ScalarType type = inputs.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor index = at::arange(inputs.layout.patches(), inputs.q.options().dtype(type));
    const Tensor row = at::constant_pad_nd(index * slope_, {prefix, 0});
    return {Depends::kLayout, Dense{row.expand({1, 1, tokens, tokens}).contiguous()}};
  }

 private:
  double slope_;
};

class DrillRamp final : public Prior {
 public:
  explicit DrillRamp(double slope) : slope_(slope) {}
  std::shared_ptr<PriorLayer> layer(const LayerInfo&) override { return std::make_shared<DrillRampLayer>(slope_); }

 private:
  double slope_;
};

}  // namespace

PriorItem drill_ramp() {
  Item item = prior_entry("drill-ramp", 1, "Later patches of the raster weigh more", "none: a drill",
                          "L = c q k^T + slope j", {"bias"}, {1, 2, 3});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a mask, kept per grid"});
  item.option(Option::number("slope", 0.1, "what one step along the raster adds").above(0.0).maximum(10.0));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<DrillRamp>(o.number("slope"));
          }};
}

}  // namespace locus::engine::priors

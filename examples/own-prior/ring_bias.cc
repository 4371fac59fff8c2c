// Ring bias: attention falls off with the ring around a patch that another one lies on, each head by a slope that it learns.
//
//   b[n, i, j] = -m_n max(|y_i - y_j|, |x_i - x_j|), added after the scaling
//
// Pairs with a prefix token have no bias. m_n are parameters, and start at `slope`.
#include "engine/plugin/plugin.h"
#include "engine/priors/offsets.h"

namespace {

using namespace locus::engine;

// Of every offset its ring, [R], and which offset each pair has.
struct Rings {
  Tensor ring;
  PairIndex index;
};

class RingBiasLayer final : public PriorLayer {
 public:
  explicit RingBiasLayer(std::int64_t heads) { slope_ = register_parameter("slope", at::empty({heads})); }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const Layout& layout = inputs.layout;
    const at::ScalarType type = inputs.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto options = inputs.q.options().dtype(type);
    const Rings& rings = kept_.get(layout, options.device(), type, [&] {
      return Rings{offsets(layout, options).abs().amax(1), offset_rule(layout, options.device())};
    });
    return {Depends::kParameters, offset_bias(slope_.to(type).neg().unsqueeze(1) * rings.ring, rings.index)};
  }

  void start(double slope) { slope_.detach().fill_(slope); }

 private:
  Tensor slope_;  // [H]
  PerLayout<Rings> kept_;
};

class RingBias final : public Prior {
 public:
  explicit RingBias(double slope) : slope_(slope) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<RingBiasLayer>(info.heads);
  }
  void initialize(const Initializer&) override {
    for (const auto& layer : layers()) static_cast<RingBiasLayer&>(*layer).start(slope_);
  }

 private:
  double slope_;
};

PriorItem ring_bias() {
  Item item = priors::prior_entry("ring-bias", 1, "Bias by the ring that another patch lies on, with learned slopes",
                                  "none: an example", "L = c q k^T - m max |r_i - r_j|", {"bias"}, {2});
  priors::weigh(item, {.parameters = "H a layer",
                       .counts = {{"parameters", "depth * heads"}},
                       .base = 144,
                       .paths = {"flash", "sdpa", "explicit"},
                       .cost = "a lookup by the offset in every pair a layer"});
  item.option(Option::number("slope", 0.1, "what every head begins with").minimum(0.0).maximum(10.0));
  return {item, [](const PriorContext&, const Options& options) -> std::shared_ptr<Prior> {
            return std::make_shared<RingBias>(options.number("slope"));
          }};
}

}  // namespace

LOCUS_PLUGIN("own-prior")
LOCUS_PRIOR(ring_bias)

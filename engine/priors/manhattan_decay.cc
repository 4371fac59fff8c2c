// Manhattan self-attention (RMT): logits fall linearly with the Manhattan distance of the patches, each head
// at its own fixed rate.
//
//   full         L_n = c q k^T + ln(gamma_n) (|dy| + |dx|)
//   decomposed   attention within the rows, L_n = c q k^T + ln(gamma_n) |dx|, then within the columns with
//   the
//                rows' output as values, L_n = c q k^T + ln(gamma_n) |dy|
//   gamma_n = 1 - 2^(-v - r n / h)
//
// Paper: Fan et al. 2024 (RMT), arXiv:2309.11523, eqs. 4 to 6. As in its published code the decay enters
// before the softmax (the paper writes softmax(q k^T) * D). RMT's raster rotation, LePE and block-wise CPE
// are priors of their own: list them beside this one. Prefix tokens have bias 0 (full) or no place
// (decomposed).
#include "engine/priors/items.h"
#include "engine/priors/manhattan.h"

namespace locus::engine::priors {
namespace {

class ManhattanDecayLayer final : public PriorLayer {
 public:
  explicit ManhattanDecayLayer(std::shared_ptr<ManhattanDecays> decays) : decays_(std::move(decays)) {}
  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    return {Depends::kLayout, decays_->get(inputs.layout, inputs.q)};
  }

 private:
  std::shared_ptr<ManhattanDecays> decays_;
};

class ManhattanDecay final : public Prior {
 public:
  ManhattanDecay(const PriorContext& context, bool decomposed, double initial, double range)
      : decomposed_(decomposed),
        decays_(std::make_shared<ManhattanDecays>(manhattan_log_decays(context.layers.at(0).heads, initial, range))) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo&) override {
    return std::make_shared<ManhattanDecayLayer>(decays_);
  }
  bool uses(Hook hook) const override { return hook != Hook::kPattern || decomposed_; }
  Pattern pattern(const LayerInfo&) const override { return decomposed_ ? Pattern::kAxial : Prior::pattern({}); }

 private:
  bool decomposed_;
  std::shared_ptr<ManhattanDecays> decays_;
};

}  // namespace

PriorItem manhattan_decay() {
  Item item = prior_entry("manhattan-decay", 1, "Fixed decay with the Manhattan distance of patches",
                          "Fan et al. 2024 (RMT), arXiv:2309.11523", "L = c q k^T + ln(gamma) (|dy| + |dx|)",
                          {"bias", "pattern"}, {1, 2, 3});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a lookup by the offset in every pair a layer; no T x T tensor"});
  alone(item, kSpatialDecay);
  along_axes_when(item, "form", "decomposed");
  item.option(Option::text("form", "full", "over the whole grid, or along rows and then columns")
                  .choices({"full", "decomposed"}));
  item.option(Option::number("initial", 2.0, "gamma of the first head is 1 - 2^-initial").above(0.0).maximum(50.0));
  item.option(Option::number("range", 4.0, "how much the exponent grows over the heads").minimum(0.0).maximum(50.0));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<ManhattanDecay>(context, o.text("form") == "decomposed", o.number("initial"),
                                                    o.number("range"));
          }};
}

}  // namespace locus::engine::priors

// DoRA: V = W + s B A, W' = m V / |V|: what LoRA learns is the direction of a weight, and m its length.
//
// Paper: Liu et al. 2024, arXiv:2402.09353, equations 5 and 11. Where codes differ:
//   norm rows        |V| and m of each output, [out]: the paper's code and peft
//   norm columns     |V| and m of each input, [in]: vtab1k-pytorch (and the paper's notation, taken by the letter)
//   norm_gradient    constant: |V| takes no part in the gradient (the paper's section 4.3, peft); through: it does (vtab1k-pytorch)
//   magnitude        trained, or frozen, as vtab1k-pytorch's trainer leaves it
// With dropout both terms of y - (x W^T + b) = drop(x) (W' - W)^T see the dropped input, as in peft.
#include "engine/adapters/low_rank.h"

namespace locus::engine::adapters {
namespace {

constexpr double kShortest = 1e-12;  // a length of 0 has no direction; its m is 0, too

class Dora final : public LowRankAdapter {
 public:
  Dora(AdaptedLayer adapted_layer, const Options& options)
      : LowRankAdapter(std::move(adapted_layer), options),
        rows_(options.text("norm") == "rows"),
        through_(options.text("norm_gradient") == "through") {
    const Tensor shape = rows_ ? at::empty({layer().out}) : at::empty({layer().parts, layer().in});
    magnitude_ = register_parameter("magnitude", shape, options.text("magnitude") == "trained");
  }

  void rest() override {
    LowRankAdapter::rest();
    const at::NoGradGuard no_gradient;
    magnitude_.copy_(lengths(weight));
  }

  Tensor merged() const override {
    const at::NoGradGuard no_gradient;
    return whole();
  }

  bool decays(std::string_view parameter) const override { return parameter != "magnitude"; }

 private:
  // Of each output, [out], or of each input within each part, [parts, in].
  Tensor lengths(const Tensor& v) const {
    const Tensor length = rows_ ? at::linalg_vector_norm(v, 2, at::IntArrayRef{1})
                                : at::linalg_vector_norm(v.unflatten(0, {layer().parts, -1}), 2, at::IntArrayRef{1});
    return length.clamp_min(kShortest);
  }

  Tensor whole() const {
    const Tensor v = weight + update();
    const Tensor factor = magnitude_ / lengths(through_ ? v : v.detach());
    if (rows_) return v * factor.unsqueeze(1);
    return (v.unflatten(0, {layer().parts, -1}) * factor.unsqueeze(1)).flatten(0, 1);
  }

  // m / |V| of each output, |V| a constant.
  Tensor row_factor() const {
    Tensor length;
    {
      const at::NoGradGuard no_gradient;
      length = lengths(weight + update());
    }
    return magnitude_ / length;
  }

  Tensor adapted(const Tensor& x) override {
    const Tensor kept = dropped_input(x);
    const bool drops = !kept.is_same(x);
    if (!rows_ || through_) {
      const Tensor w = whole();
      return drops ? Linear::forward(x) + at::linear(kept, w - weight) : at::linear(x, w, bias);
    }
    // The factor belongs to the outputs, so no gradient of a whole weight is needed. It is close to 1: mixed precision
    // rounds products with it, never itself.
    const Tensor factor = row_factor(), plain = at::linear(kept, weight), base = drops ? Linear::forward(x) : Tensor();
    const Tensor changed =
        drops ? base + (factor - 1) * plain + factor * update_of(kept) : factor * (plain + update_of(kept));
    const Tensor y = drops || !bias.defined() ? changed : changed + bias;
    return y.to(plain.scalar_type());
  }

  bool rows_, through_;
  Tensor magnitude_;
};

}  // namespace

AdapterItem dora() {
  Item item("adapter", "dora", 1, "Low-rank updates of the direction of each frozen weight, and its length apart");
  item.set("paper", "Liu et al. 2024, arXiv:2402.09353");
  item.set("formula", "W' = m V / |V|, V = W + s B A");
  add_low_rank_options(item);
  item.option(Option::text("norm", "rows",
                           "what has a length: the rows of a weight, one for each output (peft), or its columns, one "
                           "for each input (vtab1k-pytorch)")
                  .choices({"rows", "columns"})
                  .neutral("rows"));
  item.option(Option::text("norm_gradient", "constant",
                           "whether gradients pass through |V| (vtab1k-pytorch), or take it as a constant (peft)")
                  .choices({"constant", "through"})
                  .neutral("constant"));
  item.option(Option::text("magnitude", "trained", "whether m learns; vtab1k-pytorch freezes it")
                  .choices({"trained", "frozen"})
                  .neutral("trained"));
  item.facts({{"setting", {{"tuning", "DoRA"}}},
              {"costs", low_rank_costs("low_rank + norm.rows * out + norm.columns * parts * in")}});
  return {std::move(item), [](const AdaptedLayer& layer, const Options& options) -> std::shared_ptr<Adapter> {
            return std::make_shared<Dora>(layer, options);
          }};
}

}  // namespace locus::engine::adapters

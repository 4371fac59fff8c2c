// LoRA: y = x W^T + b + s (drop(x) A^T) B^T, A [r, in], B [out, r], s = alpha / r; W' = W + s B A.
//
// Paper: Hu et al. 2022, arXiv:2106.09685, equation 3. As in peft and vtab1k-pytorch, which differ in alpha alone (8 and
// 1 by default); with split_qkv as vtab1k-pytorch's maps to queries, keys and values.
#include "engine/adapters/low_rank.h"

namespace locus::engine::adapters {
namespace {

class Lora final : public LowRankAdapter {
 public:
  using LowRankAdapter::LowRankAdapter;

  Tensor merged() const override {
    const at::NoGradGuard no_gradient;
    return weight + update();
  }

 private:
  Tensor adapted(const Tensor& x) override { return Linear::forward(x) + update_of(dropped_input(x)); }
};

}  // namespace

AdapterItem lora() {
  Item item("adapter", "lora", 1,
            "Low-rank updates: a product of two narrow matrices learns beside each frozen weight");
  item.set("paper", "Hu et al. 2022, arXiv:2106.09685");
  item.set("formula", "W' = W + s B A");
  add_low_rank_options(item);
  item.facts({{"setting", {{"tuning", "LoRA"}}}, {"costs", low_rank_costs("low_rank")}});
  return {std::move(item), [](const AdaptedLayer& layer, const Options& options) -> std::shared_ptr<Adapter> {
            return std::make_shared<Lora>(layer, options);
          }};
}

}  // namespace locus::engine::adapters

// What LoRA and DoRA share: a product of two narrow matrices that is added to a weight.
#pragma once

#include "engine/adapters/adapter.h"

namespace locus::engine {

// The update is s B A, A [r, in], B [out, r], s = alpha / r (Hu et al. 2022, arXiv:2106.09685, section 4.1) or
// alpha / sqrt(r) (Kalajdzievski 2023, arXiv:2312.03732). Of a layer in p parts every part has an A and a B of its own:
// part i of the update is s B_i A_i, A [p r, in] has the A_i below each other, B [out, r] the B_i.
// Parameters "lora_a", at first uniform within one over the root of `in` (a linear layer's usual start), and "lora_b", 0.
class LowRankAdapter : public Adapter {
 public:
  LowRankAdapter(AdaptedLayer layer, const Options& options);  // those of add_low_rank_options
  void rest() override;

 protected:
  void draw(const RandomStreams& random) override;
  Tensor update() const;                    // s B A, [out, in]
  Tensor update_of(const Tensor& x) const;  // s (x A^T) B^T: [..., in] -> [..., out]
  Tensor dropped_input(const Tensor& x) { return dropped(x, dropout_); }

 private:
  std::int64_t rank_;
  double scaling_, dropout_;
  Tensor a_, b_;
};

// rank, alpha, scaling and dropout, and those of add_adapter_options.
void add_low_rank_options(Item& item);

// The catalog's formulas for the parameters beside one linear map (docs/formats/catalog.md, costs): `each_map`, in which
// `low_rank` stands for those of A and B, and `parts` for the maps that are adapted each by itself.
Json low_rank_costs(const std::string& each_map);

}  // namespace locus::engine

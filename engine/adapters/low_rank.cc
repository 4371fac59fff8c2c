// The product of two narrow matrices.
#include "engine/adapters/low_rank.h"

#include <cmath>

namespace locus::engine {

LowRankAdapter::LowRankAdapter(AdaptedLayer layer, const Options& options)
    : Adapter(std::move(layer)), rank_(options.integer("rank")), dropout_(options.number("dropout")) {
  const auto rank = static_cast<double>(rank_);
  scaling_ = options.number("alpha") / (options.text("scaling") == "root-rank" ? std::sqrt(rank) : rank);
  a_ = register_parameter("lora_a", at::empty({this->layer().parts * rank_, this->layer().in}));
  b_ = register_parameter("lora_b", at::empty({this->layer().out, rank_}));
}

void LowRankAdapter::draw(const RandomStreams& random) {
  const double bound = 1 / std::sqrt(static_cast<double>(layer().in));
  a_.copy_(random.uniform(kInitialization, layer().name + ".lora_a", 0, a_.sizes(), -bound, bound));
}

void LowRankAdapter::rest() {
  const at::NoGradGuard no_gradient;
  b_.zero_();
}

Tensor LowRankAdapter::update() const {
  const std::int64_t parts = layer().parts;
  if (parts == 1) return at::mm(b_, a_) * scaling_;
  return at::bmm(b_.unflatten(0, {parts, -1}), a_.unflatten(0, {parts, rank_})).flatten(0, 1) * scaling_;
}

Tensor LowRankAdapter::update_of(const Tensor& x) const {
  const Tensor narrow = at::linear(x, a_);  // [..., parts * rank]
  if (layer().parts == 1) return at::linear(narrow, b_) * scaling_;
  const std::vector<Tensor> narrows = narrow.chunk(layer().parts, -1), ups = b_.chunk(layer().parts, 0);
  std::vector<Tensor> out;
  for (std::size_t part = 0; part < ups.size(); ++part) out.push_back(at::linear(narrows[part], ups[part]));
  return at::cat(out, -1) * scaling_;
}

void add_low_rank_options(Item& item) {
  item.option(Option::integer("rank", 8, "rank of the update of a weight").minimum(1).maximum(4096));
  item.option(Option::number("alpha", 1.0,
                             "the update is scaled by alpha over the rank (or its root); 1 in VTAB-1K fine-tuning with "
                             "vtab1k-pytorch, 8 by default in peft")
                  .above(0.0)
                  .maximum(65536.0));
  item.option(Option::text("scaling", "rank", "what alpha is divided by: the rank (LoRA), or its root (rsLoRA)")
                  .choices({"rank", "root-rank"})
                  .neutral("rank"));
  item.option(Option::number("dropout", 0.0, "probability that a number of the adapter's input is dropped in training")
                  .minimum(0.0)
                  .maximum(0.99)
                  .neutral(0.0));
  add_adapter_options(item);
}

Json low_rank_costs(const std::string& each_map) {
  return {{"parts", "1 + split_qkv * (joint - 1)"},
          {"low_rank", "rank * (parts * in + out)"},
          {"each_map", each_map},
          {"kept", "1 - exported.merged"}};
}

}  // namespace locus::engine

// Entries of pairs, by a rule or one by one.
#include "engine/layers/pair_index.h"

#include <c10/core/InferenceMode.h>

#include <utility>

namespace locus::engine {

PairIndex::PairIndex(Tensor entries) : dense_(std::make_shared<Tensor>(std::move(entries))) {}

PairIndex::PairIndex(Rule rule)
    : rule_(std::make_shared<const Rule>(std::move(rule))), dense_(std::make_shared<Tensor>()) {}

std::int64_t PairIndex::tokens() const { return rule_ ? rule_->prefix + rule_->code.size(0) : dense_->size(0); }

at::Device PairIndex::device() const { return rule_ ? rule_->code.device() : dense_->device(); }

PairIndex PairIndex::transposed() const {
  if (!rule_) return dense_->t().contiguous();
  Rule out = *rule_;
  out.code = -out.code;
  std::swap(out.from_prefix, out.to_prefix);
  return out;
}

const Tensor& PairIndex::dense() const {
  if (dense_->defined()) return *dense_;
  const c10::InferenceMode normal_tensors(false);
  const at::NoGradGuard no_grad;
  const Rule& r = *rule_;
  const Tensor code = r.code.to(at::kLong);
  Tensor patches = code.unsqueeze(1) - code.unsqueeze(0) + r.shift;
  if (r.map.defined()) patches = r.map.to(at::kLong).index_select(0, patches.flatten()).view_as(patches);
  Tensor out = at::empty({tokens(), tokens()}, code.options());
  out.slice(0, 0, r.prefix).fill_(r.from_prefix);
  out.slice(1, 0, r.prefix).fill_(r.to_prefix);
  out.slice(0, 0, r.prefix).slice(1, 0, r.prefix).fill_(r.among_prefix);
  out.slice(0, r.prefix).slice(1, r.prefix).copy_(patches);
  return *dense_ = out;
}

}  // namespace locus::engine

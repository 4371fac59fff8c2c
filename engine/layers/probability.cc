// Terms of the probabilities by their definitions.
#include "engine/layers/probability.h"

namespace locus::engine {
namespace {

Tensor applied(const Weighted& term, const Tensor& p) { return p * term.term.dense(); }

Tensor applied(const Shifted& term, const Tensor& p) { return p + term.term.dense(); }

Tensor applied(const Blended& term, const Tensor& p) {
  const std::int64_t prefix = term.prefix;
  const Tensor logits = term.logits.dense().slice(2, prefix).slice(3, prefix);
  const Tensor place = at::softmax(logits, -1), share = term.share.view({1, -1, 1, 1});
  if (prefix == 0) return p * (1 - share) + share * place;
  const Tensor shares = at::constant_pad_nd(share.expand({-1, -1, place.size(2), 1}), {0, 0, prefix, 0});
  return p * (1 - shares) + at::constant_pad_nd(share * place, {prefix, 0, prefix, 0});
}

}  // namespace

Tensor apply_term(const ProbabilityTerm& term, const Tensor& p) {
  return std::visit([&](const auto& t) { return applied(t, p); }, term);
}

Tensor ValueTable::of(const Tensor& p) const {
  const Tensor empty = at::zeros({p.size(0), p.size(1), p.size(2), table.size(2)}, p.options());
  return at::matmul(empty.scatter_add(3, index.dense().expand_as(p), p), table.to(p.scalar_type()));
}

}  // namespace locus::engine

// The dense meaning of every form.
#include "engine/layers/forms.h"

#include <c10/core/InferenceMode.h>

#include "engine/base/precision.h"

namespace locus::engine {
namespace {

// Zero rows and columns in front of the last two axes.
Tensor with_prefix(const Tensor& patches, std::int64_t prefix) {
  return prefix == 0 ? patches : at::constant_pad_nd(patches, {prefix, 0, prefix, 0}, 0);
}

struct Members {
  static std::vector<Tensor> of(const Dense& f) { return {f.values}; }
  static std::vector<Tensor> of(const LowRank& f) { return {f.query, f.key}; }
  static std::vector<Tensor> of(const RelativeTable& f) { return {f.table}; }
  static std::vector<Tensor> of(const Bucketed& f) {
    std::vector<Tensor> values;
    for (const Bucketed::Lookup& lookup : f.lookups) values.push_back(lookup.values);
    return values;
  }
  static std::vector<Tensor> of(const DistanceDecay& f) { return {f.positions, f.slope}; }
  static std::vector<Tensor> of(const CurveDecay& f) { return {f.rate, f.alpha}; }
};

}  // namespace

Tensor LowRank::dense() const {
  const Autocast off(Precision::kFloat32, query.device());  // large products cancel
  const Tensor products = at::matmul(query, key.transpose(-2, -1));
  return row.defined() ? products + row : products;
}

Tensor RelativeTable::dense() const {
  return table.index_select(2, index.flatten()).unflatten(2, {index.size(0), index.size(1)});
}

Tensor Bucketed::dense() const {
  Tensor sum;
  for (const Lookup& lookup : lookups) {
    const Tensor at = lookup.index.expand({lookup.values.size(0), lookup.values.size(1), -1, -1});
    const Tensor found = lookup.values.gather(3, at);
    const Tensor part = lookup.by_key ? found.transpose(2, 3) : found;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

Tensor DistanceDecay::dense() const {
  // Not at::cdist: its gradient is undefined on the diagonal, and a product form loses digits.
  const Tensor difference = positions.unsqueeze(-2) - positions.unsqueeze(-3);
  const Tensor distance = difference.square().sum(-1).sqrt();
  const Tensor values = with_prefix(distance.unsqueeze(-3) * slope.neg().view({-1, 1, 1}), prefix);
  return values.dim() == 3 ? values.unsqueeze(0) : values;
}

const Tensor& CurveRanks::distance(at::ScalarType type) const {
  if (!distance_.defined() || distance_.scalar_type() != type) {
    const c10::InferenceMode normal_tensors(false);
    const at::NoGradGuard no_grad;
    const Tensor rank = rank_.to(type);
    distance_ = with_prefix((rank.unsqueeze(2) - rank.unsqueeze(1)).abs(), prefix_).unsqueeze(1);
  }
  return distance_;
}

Tensor CurveDecay::dense() const {
  const Tensor exponent = ranks->distance(rate.scalar_type()) * rate.neg().unsqueeze(-1).unsqueeze(-1);
  const Tensor mask = exponent.exp().mean(0, /*keepdim=*/true) * alpha.view({1, -1, 1, 1});
  return plus == 0 ? mask : mask + plus;
}

std::string_view form_name(const Form& form) {
  static constexpr std::string_view kNames[] = {"dense",    "low-rank",       "relative-table",
                                                "bucketed", "distance-decay", "curve-decay"};
  static_assert(std::size(kNames) == std::variant_size_v<Form>);
  return kNames[form.index()];
}

bool requires_grad(const Form& form) {
  const auto members = std::visit([](const auto& f) { return Members::of(f); }, form);
  for (const Tensor& member : members) {
    if (member.requires_grad()) return true;
  }
  return false;
}

const Tensor& BiasTerm::dense() const {
  if (!dense_.defined()) {
    const c10::InferenceMode mode(on_ != Depends::kLayout && c10::InferenceMode::is_enabled());
    dense_ = std::visit([](const auto& f) { return f.dense(); }, form_);
  }
  return dense_;
}

}  // namespace locus::engine

// The dense meaning of every form.
#include "engine/layers/forms.h"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "engine/base/precision.h"

namespace locus::engine {
namespace {

// Zero rows and columns in front of the last two axes.
Tensor with_prefix(const Tensor& patches, std::int64_t prefix) {
  return prefix == 0 ? patches : at::constant_pad_nd(patches, {prefix, 0, prefix, 0}, 0);
}

struct Members {
  static std::vector<Tensor> of(const Dense& f) { return {f.values}; }
  static std::vector<Tensor> of(const LowRank& f) {
    return f.row.defined() ? std::vector<Tensor>{f.query, f.key, f.row} : std::vector<Tensor>{f.query, f.key};
  }
  static std::vector<Tensor> of(const RelativeTable& f) { return {f.table}; }
  static std::vector<Tensor> of(const Bucketed& f) {
    std::vector<Tensor> values;
    for (const Bucketed::Lookup& lookup : f.lookups) values.push_back(lookup.values);
    return values;
  }
  static std::vector<Tensor> of(const DistanceDecay& f) { return {f.positions, f.slope}; }
  static std::vector<Tensor> of(const Quadratic& f) { return {f.numbers}; }
  static std::vector<Tensor> of(const Gated& f) { return {f.gate}; }
  static std::vector<Tensor> of(const Scan& f) { return {f.place}; }
  static std::vector<Tensor> of(const CurveDecay& f) { return {f.rate, f.alpha}; }
};

}  // namespace

Tensor LowRank::dense() const {
  const Autocast off(Precision::kFloat32, query.device());  // large products cancel
  const Tensor products = at::matmul(query, key.transpose(-2, -1));
  return row.defined() ? products + row : products;
}

Tensor RelativeTable::dense() const {
  return table.index_select(2, index.dense().flatten()).unflatten(2, {index.tokens(), index.tokens()});
}

Tensor Bucketed::dense() const {
  Tensor sum;
  for (const Lookup& lookup : lookups) {
    const Tensor at = lookup.index.dense().expand({lookup.values.size(0), lookup.values.size(1), -1, -1});
    const Tensor found = lookup.values.expand({-1, -1, at.size(2), -1}).gather(3, at);
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

std::vector<Tensor> Quadratic::terms(const std::vector<Tensor>& offset) {
  std::vector<Tensor> terms;
  for (std::size_t a = 0; a < offset.size(); ++a) {
    for (std::size_t b = a; b < offset.size(); ++b) terms.push_back(offset[a] * offset[b]);
  }
  terms.insert(terms.end(), offset.begin(), offset.end());
  return terms;
}

Tensor Quadratic::dense() const {
  const Autocast off(Precision::kFloat32, numbers.device());
  std::vector<Tensor> offset;  // key minus query along each axis, [B|1, N, N]
  for (const Tensor& at : (positions.dim() == 2 ? positions.unsqueeze(0) : positions).unbind(2))
    offset.push_back(at.unsqueeze(1) - at.unsqueeze(2));
  const Tensor map = at::stack(terms(offset), 2);  // of the query's numbers to all keys, [B|1, N, numbers, N]
  Tensor values;
  if (map.size(0) == 1) {  // every query is one product for all samples and heads
    const Tensor by_query = numbers.permute({2, 0, 1, 3}).flatten(1, 2);  // [N, B H, numbers]
    values = at::matmul(by_query, map.squeeze(0)).unflatten(1, {numbers.size(0), numbers.size(1)});
    values = values.permute({1, 2, 0, 3});
  } else {
    values = at::matmul(numbers.transpose(1, 2), map).transpose(1, 2);
  }
  return with_prefix(values, prefix);
}

// One pass over the pairs: distances to and from prefix tokens are 0, whatever their gate is.
Tensor Gated::dense() const {
  const Tensor apart = with_prefix((positions.unsqueeze(-2) - positions.unsqueeze(-3)).abs().sum(-1), prefix);
  const Tensor all = prefix == 0 ? gate : at::constant_pad_nd(gate, {prefix, 0}, 0);
  return (all.unsqueeze(-1) + all.unsqueeze(-2)) * (apart.dim() == 2 ? apart : apart.unsqueeze(1));
}

namespace {

// place_i - place_j of the patches, written to `out` [.., N, N].
void differences(const Tensor& place, Tensor& out) { at::sub_out(out, place.unsqueeze(-1), place.unsqueeze(-2)); }

// Keeps the places alone for the way back, instead of three tensors of all pairs.
class ScanPairs : public torch::autograd::Function<ScanPairs> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& place, std::int64_t prefix,
                        bool causal) {
    context->save_for_backward({place});
    context->saved_data["prefix"] = prefix;
    context->saved_data["causal"] = causal;
    const std::int64_t patches = place.size(2), tokens = prefix + patches;
    const std::vector<std::int64_t> size = {place.size(0), place.size(1), tokens, tokens};
    Tensor out = prefix == 0 ? at::empty(size, place.options()) : at::zeros(size, place.options());
    Tensor pairs = out.slice(2, prefix).slice(3, prefix);
    differences(place, pairs);
    pairs.abs_().neg_();
    if (causal) pairs.masked_fill_(later(place), -std::numeric_limits<double>::infinity());
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const Tensor place = context->get_saved_variables()[0];
    const std::int64_t prefix = context->saved_data["prefix"].toInt();
    Tensor slope = at::empty({place.size(0), place.size(1), place.size(2), place.size(2)}, place.options());
    differences(place, slope);
    slope.sgn_().mul_(grads[0].slice(2, prefix).slice(3, prefix));
    if (context->saved_data["causal"].toBool()) slope.masked_fill_(later(place), 0);
    return {slope.sum(2) - slope.sum(3), Tensor(), Tensor()};
  }

 private:
  static Tensor later(const Tensor& place) {
    return at::ones({place.size(2), place.size(2)}, place.options().dtype(at::kBool)).triu(1);
  }
};

}  // namespace

Tensor Scan::dense() const { return ScanPairs::apply(place, prefix, causal); }

Tensor CurveRanks::distance(at::ScalarType type) const {
  const at::NoGradGuard no_grad;
  const Tensor rank = rank_.to(type);
  return with_prefix((rank.unsqueeze(2) - rank.unsqueeze(1)).abs_(), prefix_).unsqueeze(1);
}

Tensor CurveDecay::dense() const {
  const Tensor powers = (ranks->distance(rate.scalar_type()) * rate.neg().unsqueeze(-1).unsqueeze(-1)).exp_();
  const Tensor mask = powers.mean(0, /*keepdim=*/true) * alpha.view({1, -1, 1, 1});
  return plus == 0 ? mask : mask + plus;
}

std::string_view form_name(const Form& form) {
  static constexpr std::string_view kNames[] = {
      "dense", "low-rank", "relative-table", "bucketed", "distance-decay", "quadratic", "gated", "scan", "curve-decay"};
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

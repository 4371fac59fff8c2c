// The execution paths and the choice among them.
#include "engine/attention/path.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>

#include "engine/attention/curve_decay.h"
#include "engine/attention/lookup.h"
#include "engine/base/precision.h"

namespace locus::engine {
namespace {

// c q k^T. The factor rides in the matrix product.
Tensor content_logits(const Scores& s) {
  const std::int64_t b = s.q.size(0), h = s.q.size(1), t = s.q.size(2), d = s.q.size(3);
  const Tensor q = s.q.reshape({b * h, t, d}), k = s.k.reshape({b * h, t, d});
  const Tensor ignored = at::empty({1, 1, 1}, q.options());
  return at::baddbmm(ignored, q, k.transpose(1, 2), /*beta=*/0, /*alpha=*/s.scale).view({b, h, t, t});
}

Tensor scaled(Tensor logits, std::span<const BiasTerm* const> scales) {
  for (const BiasTerm* factor : scales) logits = logits * factor->dense();
  return logits;
}

// prod(scales) * logits + sum(biases)
Tensor with_terms(Tensor logits, const Scores& s, std::span<const BiasTerm* const> scales) {
  std::size_t done = 0;
  if (!scales.empty() && !s.biases.empty()) {  // the last factor and the first summand in one pass
    logits = scaled(std::move(logits), scales.first(scales.size() - 1));
    logits = at::addcmul(s.biases[0]->dense(), logits, scales.back()->dense());
    done = 1;
  } else {
    logits = scaled(std::move(logits), scales);
  }
  for (const BiasTerm* summand : std::span(s.biases).subspan(done)) logits = logits + summand->dense();
  return logits;
}

// What is added to the logits of an image's windows, [windows, 1, T, T].
Tensor region_mask(const Scores& s, at::ScalarType type) {
  const Tensor apart = s.region.unsqueeze(2).ne(s.region.unsqueeze(1)).unsqueeze(1);
  return at::zeros(apart.sizes(), apart.options().dtype(type)).masked_fill_(apart, s.hidden);
}

// Logits [B, H, T, T] with pairs of different regions hidden.
Tensor hidden(const Tensor& logits, const Scores& s) {
  if (!s.region.defined()) return logits;
  return (logits.unflatten(0, {-1, s.region.size(0)}) + region_mask(s, logits.scalar_type())).flatten(0, 1);
}

// softmax and what follows, for logits without regions
Tensor weighted_values(const Tensor& logits, const Scores& s) {
  Tensor p = at::softmax(hidden(logits, s), -1);
  if (s.probabilities) p = s.probabilities(p);
  p = p.to(s.v.scalar_type());  // terms may have brought float32 into a model of half precision
  const Tensor out = at::matmul(p, s.v);
  return s.from_probabilities ? out + s.from_probabilities(p) : out;
}

// L without regions
Tensor explicit_logits(const Scores& s) { return scaled(with_terms(content_logits(s), s, s.scales), s.sum_scales); }

bool always(const Scores&) { return true; }

Tensor run_explicit(const Scores& s) { return weighted_values(explicit_logits(s), s); }

bool has_scales(const Scores& s) { return !s.scales.empty() || !s.sum_scales.empty(); }

// The blocked kernels: never a T x T tensor where there is no mask. On the CPU they pay off once a row of
// logits no longer fits beside its neighbors in the cache.
bool fused_preferred(const Scores& s) { return !s.q.is_cpu() || s.q.size(2) >= 128; }

Tensor kernel(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double scale) {
  return at::scaled_dot_product_attention(q, k, v, mask, /*dropout_p=*/0, /*is_causal=*/false, scale);
}

// `mask` [B|1, H|1, T, T] has no gradient.
Tensor fused(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double scale,
             const Scores& s) {
  const std::int64_t batch = q.size(0), heads = q.size(1);
  if (!s.region.defined()) {
    return kernel(q, k, v, mask ? std::optional(mask->expand({batch, heads, -1, -1})) : mask, scale);
  }
  // The windows of an image become heads, so that the kernel takes one mask of all windows for every image.
  const std::int64_t windows = s.region.size(0), images = batch / windows;
  Tensor sum = region_mask(s, q.scalar_type()).unsqueeze(0);  // [images|1, windows, H|1, T, T]
  if (mask) sum = sum + (mask->size(0) == 1 ? mask->unsqueeze(0) : mask->unflatten(0, {images, windows}));
  sum = sum.expand({-1, -1, heads, -1, -1}).flatten(1, 2).expand({images, -1, -1, -1});
  const auto gathered = [&](const Tensor& t) { return t.unflatten(0, {images, windows}).flatten(1, 2); };
  return kernel(gathered(q), gathered(k), gathered(v), sum, scale).unflatten(1, {windows, heads}).flatten(0, 1);
}

bool fused_supports(const Scores& s) { return !has_scales(s) && s.biases.empty() && !s.hooked(); }

Tensor run_fused(const Scores& s) { return fused(s.q, s.k, s.v, std::nullopt, s.scale, s); }

// A mask with a gradient would be expanded over the batch before it is reduced, so those stay explicit.
bool fit_for_mask(const BiasTerm* bias) { return !requires_grad(bias->form()); }

bool fused_bias_supports(const Scores& s) {
  return !has_scales(s) && !s.biases.empty() && !s.hooked() &&
         std::all_of(s.biases.begin(), s.biases.end(), fit_for_mask);
}

Tensor run_fused_bias(const Scores& s) {
  Tensor sum = s.biases[0]->dense();
  for (const BiasTerm* bias : std::span(s.biases).subspan(1)) sum = sum + bias->dense();
  return fused(s.q, s.k, s.v, sum.to(s.q.scalar_type()), s.scale, s);
}

const LowRank* low_rank(const BiasTerm* bias) { return std::get_if<LowRank>(&bias->form()); }

// Low-rank biases ride along as further channels of q and k; other biases, if any, make a mask.
bool low_rank_supports(const Scores& s) {
  if (has_scales(s) || s.hooked()) return false;
  return std::any_of(s.biases.begin(), s.biases.end(), low_rank) &&
         std::all_of(s.biases.begin(), s.biases.end(),
                     [](const BiasTerm* bias) { return low_rank(bias) != nullptr || fit_for_mask(bias); });
}

Tensor run_low_rank(const Scores& s) {
  // Large products cancel in the features: float32 at least, in mixed precision too.
  const Autocast off(Precision::kFloat32, s.q.device());
  const at::ScalarType own = s.q.scalar_type(), type = own == at::kDouble ? at::kDouble : at::kFloat;
  const std::int64_t batch = s.q.size(0), heads = s.q.size(1), width = s.v.size(-1);
  std::vector<Tensor> q = {s.q.to(type) * s.scale}, k = {s.k.to(type)};
  std::optional<Tensor> mask;
  for (const BiasTerm* bias : s.biases) {
    if (const LowRank* features = low_rank(bias)) {
      q.push_back(features->query.to(type).expand({batch, heads, -1, -1}));
      k.push_back(features->key.to(type).expand({batch, heads, -1, -1}));
    } else {
      const Tensor dense = bias->dense().to(type);
      mask = mask ? *mask + dense : dense;
    }
  }
  Tensor wide_q = at::cat(q, -1), wide_k = at::cat(k, -1), v = s.v.to(type);
  if (const std::int64_t padding = -wide_q.size(-1) & 7; padding > 0) {  // CUDA kernels want multiples of 8
    wide_q = at::constant_pad_nd(wide_q, {0, padding});
    wide_k = at::constant_pad_nd(wide_k, {0, padding});
  }
  // The CPU kernel wants v as wide as q; CUDA's memory-efficient one takes it as it is.
  if (v.is_cpu()) v = at::constant_pad_nd(v, {0, wide_q.size(-1) - width});
  return fused(wide_q, wide_k, v, mask, 1.0, s).narrow(-1, 0, width).to(own);
}

// The scale that the kernel applies: the first, and one of the sum before one of the content.
const CurveDecay* curve_decay(const Scores& s) {
  if (!s.sum_scales.empty()) return std::get_if<CurveDecay>(&s.sum_scales[0]->form());
  return s.scales.empty() ? nullptr : std::get_if<CurveDecay>(&s.scales[0]->form());
}

bool curve_decay_supports(const Scores& s) {
  const CurveDecay* decay = curve_decay(s);
  return decay != nullptr && curve_decay_kernel(s.q, decay->rate.size(0)) != nullptr;
}

// A kept mask (evaluation) is one multiplication; the kernel wins where the mask is new each time.
bool curve_decay_preferred(const Scores& s) {
  const CurveDecay* decay = curve_decay(s);
  return decay->rate.requires_grad() || decay->alpha.requires_grad() || s.q.is_cuda();
}

Tensor run_curve_decay(const Scores& s) {
  const bool of_sum = !s.sum_scales.empty();
  Tensor content = content_logits(s);
  if (of_sum) content = with_terms(content, s, s.scales);
  Tensor logits = apply_curve_decay(content, *curve_decay(s));
  if (curve_decay(s)->plus != 0) logits = at::add(logits, content, curve_decay(s)->plus);
  if (of_sum) return weighted_values(scaled(logits, std::span(s.sum_scales).subspan(1)), s);
  return weighted_values(with_terms(logits, s, std::span(s.scales).subspan(1)), s);
}

bool looked_up(const BiasTerm* bias, const Scores& s) { return can_look_up(s.q, bias->form()); }

bool bucketed_supports(const Scores& s) {
  return std::any_of(s.biases.begin(), s.biases.end(), [&](const BiasTerm* bias) { return looked_up(bias, s); });
}

// What is kept (evaluation) is one addition; the kernel wins where a lookup is new each time.
bool bucketed_preferred(const Scores& s) {
  return std::any_of(s.biases.begin(), s.biases.end(), [&](const BiasTerm* bias) {
    return looked_up(bias, s) && (requires_grad(bias->form()) || bias->on() == Depends::kContent);
  });
}

Tensor run_bucketed(const Scores& s) {
  std::vector<const BiasTerm*> lookups, others;
  for (const BiasTerm* bias : s.biases) (looked_up(bias, s) ? lookups : others).push_back(bias);
  Scores rest = s;
  rest.biases = std::move(others);
  // Mixed precision may have narrowed the product; the kernel is for the type that was asked about.
  Tensor logits = with_terms(content_logits(rest), rest, rest.scales).to(s.q.scalar_type());
  for (const BiasTerm* bias : lookups) logits = add_lookups(logits, bias->form());
  return weighted_values(scaled(logits, s.sum_scales), s);
}

}  // namespace

AttentionWeights explicit_weights(const Scores& scores) {
  const Tensor logits = hidden(explicit_logits(scores), scores);
  const Tensor p = at::softmax(logits, -1);
  return {logits, scores.probabilities ? scores.probabilities(p) : p};
}

const std::vector<ExecutionPath>& execution_paths() {
  static const std::vector<ExecutionPath> paths = {
      {"curve-decay", curve_decay_supports, curve_decay_preferred, run_curve_decay},
      {"fused", fused_supports, fused_preferred, run_fused},
      {"low-rank", low_rank_supports, fused_preferred, run_low_rank},
      {"bucketed", bucketed_supports, bucketed_preferred, run_bucketed},
      {"fused-bias", fused_bias_supports, fused_preferred, run_fused_bias},
      {"explicit", always, always, run_explicit},
  };
  return paths;
}

const ExecutionPath& choose_path(std::string_view wanted, const Scores& scores) {
  const auto& paths = execution_paths();
  bool known = wanted == "auto";
  for (const ExecutionPath& path : paths) {
    known = known || path.name == wanted;
    if (wanted != "auto" && path.name != wanted) continue;
    if (path.supports(scores) && (wanted != "auto" || path.preferred(scores))) return path;
  }
  if (!known) throw std::invalid_argument("no execution path is called '" + std::string(wanted) + "'");
  return paths.back();
}

}  // namespace locus::engine

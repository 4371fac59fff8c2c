// The execution paths and the choice among them.
#include "engine/attention/path.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include "engine/attention/curve_decay.h"

namespace locus {
namespace {

// c q k^T. The factor rides in the matrix product.
Tensor content_logits(const Scores& s) {
  const std::int64_t b = s.q.size(0), h = s.q.size(1), t = s.q.size(2), d = s.q.size(3);
  const Tensor q = s.q.reshape({b * h, t, d}), k = s.k.reshape({b * h, t, d});
  const Tensor ignored = at::empty({1, 1, 1}, q.options());
  return at::baddbmm(ignored, q, k.transpose(1, 2), /*beta=*/0, /*alpha=*/s.scale).view({b, h, t, t});
}

// prod(scales) * logits + sum(biases)
Tensor with_terms(Tensor logits, const Scores& s, std::span<const Term* const> scales) {
  std::size_t done = 0;
  if (!scales.empty() && !s.biases.empty()) {  // the last factor and the first summand in one pass
    for (const Term* factor : scales.first(scales.size() - 1)) logits = logits * factor->dense();
    logits = at::addcmul(s.biases[0]->dense(), logits, scales.back()->dense());
    done = 1;
  } else {
    for (const Term* factor : scales) logits = logits * factor->dense();
  }
  for (const Term* summand : std::span(s.biases).subspan(done)) logits = logits + summand->dense();
  return logits;
}

// softmax and what follows
Tensor weighted_values(const Tensor& logits, const Scores& s) {
  Tensor p = at::softmax(logits, -1);
  if (s.probabilities) p = s.probabilities(p);
  const Tensor out = at::matmul(p, s.v);
  return s.from_probabilities ? out + s.from_probabilities(p) : out;
}

bool always(const Scores&) { return true; }

Tensor run_explicit(const Scores& s) {
  return weighted_values(with_terms(content_logits(s), s, s.scales), s);
}

// at::scaled_dot_product_attention knows one additive mask and nothing else. A mask that needs a gradient
// would be expanded over the batch before it is reduced, so those stay explicit.
bool fused_supports(const Scores& s) {
  if (!s.scales.empty() || s.hooked()) return false;
  for (const Term* bias : s.biases) {
    if (requires_grad(bias->form())) return false;
  }
  return true;
}

// On the CPU the blocked kernel pays off once a row of logits no longer fits beside its neighbors in the
// cache.
bool fused_preferred(const Scores& s) { return !s.q.is_cpu() || s.q.size(2) >= 128; }

Tensor run_fused(const Scores& s) {
  std::optional<Tensor> mask;
  if (!s.biases.empty()) {
    Tensor sum = s.biases[0]->dense();
    for (const Term* bias : std::span(s.biases).subspan(1)) sum = sum + bias->dense();
    mask = sum.to(s.q.scalar_type()).expand({s.q.size(0), s.q.size(1), -1, -1});
  }
  return at::scaled_dot_product_attention(s.q, s.k, s.v, mask, /*dropout_p=*/0, /*is_causal=*/false,
                                          /*scale=*/s.scale);
}

const CurveDecay* curve_decay(const Scores& s) {
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
  const Tensor logits = apply_curve_decay(content_logits(s), *curve_decay(s));
  return weighted_values(with_terms(logits, s, std::span(s.scales).subspan(1)), s);
}

}  // namespace

const std::vector<ExecutionPath>& execution_paths() {
  static const std::vector<ExecutionPath> paths = {
      {"curve-decay", curve_decay_supports, curve_decay_preferred, run_curve_decay},
      {"fused", fused_supports, fused_preferred, run_fused},
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

}  // namespace locus

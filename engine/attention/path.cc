// The execution paths and the choice among them.
#include "engine/attention/path.h"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/record_function.h>

#include <algorithm>

#include "engine/attention/flash.h"
#include "engine/attention/flash_cuda.h"
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

// P after everything that is done to it.
Tensor hooked_probabilities(Tensor p, const Scores& s) {
  for (const ProbabilityTerm& term : s.probability_terms) p = apply_term(term, p);
  return s.probabilities ? s.probabilities(p) : p;
}

// softmax and what follows, for logits without regions
Tensor weighted_values(const Tensor& logits, const Scores& s) {
  // Terms may have brought float32 into a model of half precision.
  const Tensor p = hooked_probabilities(at::softmax(hidden(logits, s), -1), s).to(s.v.scalar_type());
  Tensor out = at::matmul(p, s.v);
  for (const ValueTable& table : s.value_tables) out = out + table.of(p);
  return s.from_probabilities ? out + s.from_probabilities(p) : out;
}

// L without regions
Tensor explicit_logits(const Scores& s) { return scaled(with_terms(content_logits(s), s, s.scales), s.sum_scales); }

bool always(const Scores&) { return true; }

bool sees_probabilities(const Scores& s) {
  return s.hooked() || !s.probability_terms.empty() || !s.value_tables.empty();
}

Tensor run_explicit(const Scores& s) { return weighted_values(explicit_logits(s), s); }

bool has_scales(const Scores& s) { return !s.scales.empty() || !s.sum_scales.empty(); }

// PyTorch's blocked kernels, for devices without one of ours: never a T x T tensor where there is no mask.
bool sdpa_preferred(const Scores& s) { return !s.q.is_cpu(); }

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

const LowRank* low_rank(const BiasTerm* bias) { return std::get_if<LowRank>(&bias->form()); }

// Low-rank biases ride along as further channels of q and k; other biases, if any, make a mask. A mask with a gradient
// would be expanded over the batch before it is reduced, so those stay explicit.
bool sdpa_supports(const Scores& s) {
  if (has_scales(s) || sees_probabilities(s)) return false;
  return std::all_of(s.biases.begin(), s.biases.end(),
                     [](const BiasTerm* bias) { return low_rank(bias) != nullptr || !requires_grad(bias->form()); });
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

Tensor run_sdpa(const Scores& s) {
  if (std::any_of(s.biases.begin(), s.biases.end(), low_rank)) return run_low_rank(s);
  std::optional<Tensor> mask;
  for (const BiasTerm* bias : s.biases) mask = mask ? *mask + bias->dense() : bias->dense();
  if (mask) mask = mask->to(s.q.scalar_type());
  return fused(s.q, s.k, s.v, mask, s.scale, s);
}

// One blocked computation, by the kernels of the device.
bool flash_on_device_supports(const Scores& s) { return s.q.is_cuda() ? flash_cuda_supports(s) : flash_supports(s); }
// Our kernels are told of as an operator is, so that profiles show them and their operations are counted.
Tensor run_flash_on_device(const Scores& s) {
  const c10::IValue told[] = {s.q, s.k, s.v};
  RECORD_FUNCTION(kFlashOperator, c10::ArrayRef<const c10::IValue>(told));
  return s.q.is_cuda() ? flash_cuda(s) : run_flash(s);
}

}  // namespace

AttentionWeights explicit_weights(const Scores& scores) {
  const Tensor logits = hidden(explicit_logits(scores), scores);
  return {logits, hooked_probabilities(at::softmax(logits, -1), scores)};
}

const std::vector<ExecutionPath>& execution_paths() {
  static const std::vector<ExecutionPath> paths = {
      {"flash", flash_on_device_supports, always, run_flash_on_device},
      {"sdpa", sdpa_supports, sdpa_preferred, run_sdpa},
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

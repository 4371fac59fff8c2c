// Curve decay applied to logits without ever holding the mask: its rows are computed from rank vectors where
// they are used.
#pragma once

#include "engine/layers/forms.h"

namespace locus::engine {

// What a device must supply. Tensors are contiguous; content and gradients [B, H, T, T]; rank int32 [C, N];
// rate [C, H], alpha [H].
struct CurveDecayKernel {
  bool (*supports)(const Tensor& content, std::int64_t curves);
  Tensor (*forward)(const Tensor& content, const CurveRanks& ranks, const Tensor& rate, const Tensor& alpha);
  struct Gradients {
    Tensor content, rate, alpha;
  };
  Gradients (*backward)(const Tensor& grad, const Tensor& content, const CurveRanks& ranks, const Tensor& rate,
                        const Tensor& alpha);
};

// The kernel for `content`'s device and type, or null.
const CurveDecayKernel* curve_decay_kernel(const Tensor& content, std::int64_t curves);

// content * alpha * mean_c exp(-rate |rank_i - rank_j|), differentiable once in content, rate and alpha. The
// kernel must exist.
Tensor apply_curve_decay(const Tensor& content, const CurveDecay& decay);

}  // namespace locus::engine

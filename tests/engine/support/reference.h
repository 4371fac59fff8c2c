// The explicit float64 reference of attention: scalar loops over the definition, values and gradients. Every
// execution path is held to it.
#pragma once

#include "engine/layers/forms.h"

namespace locus::engine::test {

// Everything double and contiguous. scales and biases are full [B, H, T, T].
struct ReferenceInput {
  Tensor q, k, v;
  double scale = 1;
  std::vector<Tensor> scales, biases;
  std::vector<Tensor> sum_scales = {};  // factors of the content with its scales plus the biases
  Tensor region = {};  // int8 [W, T]: sample b is window b mod W; -100 where the numbers of a pair differ
};

struct ReferenceResult {
  Tensor out;                                      // [B, H, T, d]
  Tensor q, k, v;                                  // gradients of sum(out * weight)
  std::vector<Tensor> scales, biases, sum_scales;  // likewise, full
};

ReferenceResult reference_attention(const ReferenceInput& in, const Tensor& weight);

// The definitions of the forms, entry by entry, as [1, H, T, T].
Tensor reference_curve_decay(const Tensor& rank, const Tensor& rate, const Tensor& alpha, std::int64_t prefix);
// values[b, h, i, index[i, j]], or values[b, h, j, index[j, i]] by key; values [B, H, T, R].
Tensor reference_lookup(const Tensor& values, const Tensor& index, bool by_key);
// The gradient of sum(lookup * full) in the values, full [B, H, T, T].
Tensor reference_lookup_gradient(const Tensor& full, const Tensor& index, bool by_key, std::int64_t rows);
Tensor reference_distance_decay(const Tensor& positions, const Tensor& slope, std::int64_t prefix);

// Gradients of sum(curve decay * weight), weight [H, T, T].
struct CurveDecayGradients {
  Tensor rate, alpha;
};
CurveDecayGradients reference_curve_decay_gradients(const Tensor& rank, const Tensor& rate, const Tensor& alpha,
                                                    std::int64_t prefix, const Tensor& weight);

// Largest absolute difference; infinity when shapes differ or either holds a NaN.
double largest_difference(const Tensor& a, const Tensor& b);

}  // namespace locus::engine::test

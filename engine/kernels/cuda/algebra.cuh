// From products of q and k to logits, term by term, and from the gradient of logits back to a term's. Include a
// device first.
#pragma once

#include "engine/kernels/cuda/forms.cuh"

namespace locus::gpu {

// What the terms make of a block of 16 x 16: logits = sum_scale (scale a + bias) + hidden.
struct Algebra {
  Chunk a;          // scale q k'
  Chunk scale, u;   // the product of scales; scale a + bias
  Chunk sum_scale;  // the product of scales of the sum
  Chunk weight;     // the product of weights
  Chunk logits;
};

template <class P>
LOCUS_DEVICE void hide(const locus_attention& p, Place place, const P& pairs, Chunk& logits) {
  if (p.region == nullptr) return;
  const std::int8_t* region = p.region + static_cast<std::int64_t>(place.sample % p.windows) * p.tokens;
  each_pair(pairs, [&](int n, int e, int i, int j) {
    if (load(region + i) != load(region + j)) logits[n][e] += p.hidden;
  });
}

// All of the algebra for products c = q k'; what a set of terms cannot have stays untouched and costs nothing.
template <Set kSet, class P>
LOCUS_DEVICE void evaluate(const locus_attention& p, Place place, const P& pairs, const Chunk& c, Algebra& x) {
  each_pair(pairs, [&](int n, int e, int, int) {
    x.a[n][e] = x.u[n][e] = c[n][e] * p.scale;
    x.scale[n][e] = x.sum_scale[n][e] = x.weight[n][e] = 1;
  });
  if constexpr (kSet == Set::kTable || kSet == Set::kCurves) {
    Chunk value;
    values<kSet>(p.term[0], p, place, pairs, value);
    each_pair(pairs, [&](int n, int e, int, int) {
      if (kSet == Set::kTable) x.u[n][e] += value[n][e];
      if (kSet == Set::kCurves) x.scale[n][e] = value[n][e], x.u[n][e] *= value[n][e];
    });
  }
  if constexpr (kSet == Set::kGeneral) {
    LOCUS_NO_UNROLL for (int m = 0; m < p.terms; ++m) {
      const locus_term& t = p.term[m];
      Chunk value;
      values<kSet>(t, p, place, afresh(pairs), value);
      each_pair(pairs, [&](int n, int e, int, int) {  // scales come before biases
        if (t.role == LOCUS_SCALE) x.scale[n][e] *= value[n][e], x.u[n][e] *= value[n][e];
        if (t.role == LOCUS_BIAS) x.u[n][e] += value[n][e];
        if (t.role == LOCUS_SUM_SCALE) x.sum_scale[n][e] *= value[n][e];
        if (t.role == LOCUS_WEIGHT) x.weight[n][e] *= value[n][e];
      });
    }
  }
  each_pair(pairs, [&](int n, int e, int, int) { x.logits[n][e] = x.u[n][e] * x.sum_scale[n][e]; });
  if constexpr (kSet == Set::kGeneral) hide(p, place, pairs, x.logits);
}

// The product of the values of the other terms of the role. Left out by product, not by division: a value may be 0.
template <Set kSet, class P>
LOCUS_DEVICE void others(const locus_attention& p, int term, Place place, const P& pairs, Chunk& out) {
  each_pair(pairs, [&](int n, int e, int, int) { out[n][e] = 1; });
  if constexpr (kSet == Set::kGeneral) {
    LOCUS_NO_UNROLL for (int m = 0; m < p.terms; ++m) {
      if (m == term || p.term[m].role != p.term[term].role) continue;
      Chunk value;
      values<kSet>(p.term[m], p, place, afresh(pairs), value);
      each_pair(pairs, [&](int n, int e, int, int) { out[n][e] *= value[n][e]; });
    }
  }
}

// The gradient of a term's values: d_logits of the logits, p_reach = P (d_o v') for weights.
template <Set kSet, class P>
LOCUS_DEVICE void term_gradient(const locus_attention& p, int term, Place place, const P& pairs, const Algebra& x,
                                const Chunk& d_logits, const Chunk& p_reach, Chunk& out) {
  const int role = p.term[term].role;
  if (role == LOCUS_BIAS) {
    each_pair(pairs, [&](int n, int e, int, int) { out[n][e] = d_logits[n][e] * x.sum_scale[n][e]; });
    return;
  }
  others<kSet>(p, term, place, pairs, out);
  each_pair(pairs, [&](int n, int e, int, int) {
    const float rest = out[n][e];
    if (role == LOCUS_SCALE) out[n][e] = d_logits[n][e] * x.sum_scale[n][e] * x.a[n][e] * rest;
    if (role == LOCUS_SUM_SCALE) out[n][e] = d_logits[n][e] * x.u[n][e] * rest;
    if (role == LOCUS_WEIGHT) out[n][e] = p_reach[n][e] * rest;
  });
}

}  // namespace locus::gpu

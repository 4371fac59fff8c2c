// Passes over rows of logits: what the algebra makes of the content, the softmax, and the way back through both.
#pragma once

#include "engine/cpu/forms.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// What acts on one row of content logits; null where there is none.
template <typename Real>
struct RowTerms {
  const Real *scale = nullptr, *bias = nullptr, *sum_scale = nullptr;
  const Real* region = nullptr;  // of every key
  Real own_region = 0, hidden = 0;
};

// Where the gradients of the terms go; null where nobody wants them. Those that `add` are sums over samples.
template <typename Real>
struct RowGradients {
  Real *scale = nullptr, *shared_bias = nullptr, *own_bias = nullptr, *sum_scale = nullptr;
  bool add_scale = false, add_sum_scale = false;
};

// U: content times scales, plus biases.
template <typename Real>
LOCUS_INLINE Vector<Real> summed(Vector<Real> content, const RowTerms<Real>& t, std::int64_t j) {
  if (t.scale != nullptr) content *= load<Real>(t.scale + j);
  if (t.bias != nullptr) content += load<Real>(t.bias + j);
  return content;
}

// L, with pairs of different regions hidden.
template <typename Real>
LOCUS_INLINE Vector<Real> logits_of(Vector<Real> sum, const RowTerms<Real>& t, std::int64_t j) {
  if (t.sum_scale != nullptr) sum *= load<Real>(t.sum_scale + j);
  if (t.region != nullptr) {
    const Vector<Real> none = {};
    sum += load<Real>(t.region + j) != splat<Real>(t.own_region) ? splat<Real>(t.hidden) : none;
  }
  return sum;
}

// -infinity in the lanes at and behind `tokens`, of the vector that starts at j.
template <typename Real>
LOCUS_INLINE Vector<Real> without_tail(Vector<Real> x, std::int64_t j, std::int64_t tokens) {
  for (std::int64_t i = 0; i < kLanes<Real>; ++i) {
    if (j + i >= tokens) x[i] = -static_cast<Real>(__builtin_inf());
  }
  return x;
}

// What makes probabilities of logits: P = exp(L - base) times factor. A row without a key has 0 and 0.
template <typename Real>
struct RowSum {
  Real base, factor;
};

// Content logits become exp(L - base).
template <typename Real, bool kTerms>
RowSum<Real> softmax_row(Real* row, std::int64_t tokens, const RowTerms<Real>& terms) {
  constexpr std::int64_t kWide = kLanes<Real>;
  const Real infinity = static_cast<Real>(__builtin_inf());
  Vector<Real> most = splat<Real>(-infinity);
  const auto logits = [&](std::int64_t j) __attribute__((always_inline)) {
    const Vector<Real> x = load<Real>(row + j);
    return kTerms ? logits_of<Real>(summed<Real>(x, terms, j), terms, j) : x;
  };
  std::int64_t j = 0;
  for (; j + kWide <= tokens; j += kWide) {
    const Vector<Real> x = logits(j);
    if (kTerms) store<Real>(row + j, x);
    most = larger<Real>(most, x);
  }
  if (j < tokens) {
    const Vector<Real> x = without_tail<Real>(logits(j), j, tokens);
    store<Real>(row + j, x);
    most = larger<Real>(most, x);
  }
  const Real top = largest_of<Real>(most);
  const Vector<Real> base = splat<Real>(top == -infinity ? 0 : top);
  Vector<Real> sum = {};
  for (j = 0; j < tokens; j += kWide) {
    const Vector<Real> e = exponential<Real>(load<Real>(row + j) - base);
    store<Real>(row + j, e);
    sum += e;
  }
  const Real all = sum_of<Real>(sum);
  return {base[0], all == 0 ? 0 : 1 / all};
}

// P from content logits and what the forward pass kept.
template <typename Real, bool kTerms>
void probability_row(const Real* content, std::int64_t tokens, const RowTerms<Real>& terms, RowSum<Real> kept,
                     Real* to) {
  constexpr std::int64_t kWide = kLanes<Real>;
  const Vector<Real> base = splat<Real>(kept.base), factor = splat<Real>(kept.factor);
  const auto p = [&](std::int64_t j) __attribute__((always_inline)) {
    const Vector<Real> x = load<Real>(content + j);
    return (kTerms ? logits_of<Real>(summed<Real>(x, terms, j), terms, j) : x) - base;
  };
  std::int64_t j = 0;
  for (; j + kWide <= tokens; j += kWide) store<Real>(to + j, exponential<Real>(p(j)) * factor);
  if (j < tokens) store<Real>(to + j, exponential<Real>(without_tail<Real>(p(j), j, tokens)) * factor);
}

// The gradient of P becomes that of the content logits, through the softmax and the terms. Rows hold zeros of P behind
// the last token, and with them of everything here.
template <typename Real, bool kTerms>
void content_gradient_row(const Real* p, const Real* content, std::int64_t tokens, const RowTerms<Real>& terms,
                          const RowGradients<Real>& to, Real* gradient) {
  constexpr std::int64_t kWide = kLanes<Real>;
  Vector<Real> along = {};
  for (std::int64_t j = 0; j < tokens; j += kWide)
    along = fma<Real>(load<Real>(p + j), load<Real>(gradient + j), along);
  const Vector<Real> delta = splat<Real>(sum_of<Real>(along));
  const auto put = [](Real * at, Vector<Real> value, bool add) __attribute__((always_inline)) {
    store<Real>(at, add ? load<Real>(at) + value : value);
  };
  for (std::int64_t j = 0; j < tokens; j += kWide) {
    Vector<Real> d = load<Real>(p + j) * (load<Real>(gradient + j) - delta);
    if (kTerms) {
      if (to.sum_scale != nullptr)
        put(to.sum_scale + j, d * summed<Real>(load<Real>(content + j), terms, j), to.add_sum_scale);
      if (terms.sum_scale != nullptr) d *= load<Real>(terms.sum_scale + j);
      if (to.shared_bias != nullptr) put(to.shared_bias + j, d, true);
      if (to.own_bias != nullptr) put(to.own_bias + j, d, false);
      if (to.scale != nullptr) put(to.scale + j, d * load<Real>(content + j), to.add_scale);
      if (terms.scale != nullptr) d *= load<Real>(terms.scale + j);
    }
    store<Real>(gradient + j, d);
  }
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET

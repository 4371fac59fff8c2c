// Values of forms, a tile at a time.
#pragma once

#include "engine/cpu/forms.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

template <typename Real>
void FormTile<Real>::prepare_low_rank() {
  const std::int64_t size = term_->size;
  const auto same = [](Real x) { return x; };
  copy_in<Real>(values(0), size, tokens_, size, query_, same);
  copy_in<Real>(values(1), size, tokens_, size, key_, same);
  pack_panels<Real>({key_, padded<Real>(size)}, tokens_, padded<Real>(size), lanes_);
}

template <typename Real>
void FormTile<Real>::prepare_curves() {
  const Term& t = *term_;
  for (std::int64_t c = 0; c < t.size; ++c) {
    for (std::int64_t j = 0; j < patches_; ++j) lanes_[c * wide_ + j] = static_cast<Real>(t.ranks[c * patches_ + j]);
    fill(lanes_ + c * wide_ + patches_, wide_ - patches_, Real{0});
  }
  if constexpr (kSplits) {
    const double middle = 0.5 * static_cast<double>(patches_ - 1);
    split_ = true;
    for (std::int64_t c = 0; c < t.size; ++c) {
      const double rate = values(0)[c];
      split_ = split_ && rate >= 0 && rate * middle < -static_cast<double>(Series<Real>::kLowest);
    }
    for (std::int64_t c = 0; split_ && c < t.size; ++c) {
      Real *rising = rising_ + c * wide_, *falling = rising + t.size * wide_;
      const double rate = values(0)[c];
      constexpr std::int64_t kSome = kLanes<double>;
      for (std::int64_t j = 0; j < wide_; j += kSome) {
        double x[kSome];
        for (std::int64_t n = 0; n < kSome; ++n) {
          const auto rank = static_cast<double>(lanes_[c * wide_ + j + n]);
          x[n] = rate * (rank - middle);
        }
        const Vector<double> up = exponential<double>(load<double>(x)), down = exponential<double>(-load<double>(x));
        for (std::int64_t n = 0; n < kSome; ++n)
          rising[j + n] = static_cast<Real>(up[n]), falling[j + n] = static_cast<Real>(down[n]);
      }
    }
  }
}

template <typename Real>
void FormTile<Real>::prepare_lookup() {
  constexpr std::int64_t kLong = 4;  // patches of a run, in the mean, that are worth it
  const Index& x = term_->index;
  if (run_count_ > 0 || x.dense != nullptr || x.map != nullptr || rows_of_keys()) return;
  const std::int64_t found = find_runs(x.code, patches_, runs_);
  run_count_ = kLong * found <= patches_ ? found : 0;
}

// Called again where the sample or the head is another.
template <typename Real>
void FormTile<Real>::prepare(const Place& at) {
  place_ = at;
  const Term& t = *term_;
  if (t.kind == Kind::kLowRank) prepare_low_rank();
  if (looks_up(t)) prepare_lookup();
  const Real* places = nullptr;
  if (t.kind == Kind::kDistance) places = values(0);
  if (t.kind == Kind::kQuadratic || t.kind == Kind::kGated)
    places = static_cast<const Real*>(t.positions) + at.b * t.positions_batch;
  if (places != nullptr) {
    for (std::int64_t a = 0; a < t.size; ++a) {
      for (std::int64_t j = 0; j < patches_; ++j) lanes_[a * wide_ + j] = places[j * t.size + a];
      fill(lanes_ + a * wide_ + patches_, wide_ - patches_, Real{0});
    }
  }
  if (t.kind == Kind::kCurves) prepare_curves();
  if (t.kind == Kind::kScan) {
    for (std::int64_t j = 0; j < patches_; ++j) lanes_[j] = values(0)[j];
    fill(lanes_ + patches_, wide_ - patches_, Real{0});
  }
}

template <typename Real>
void FormTile<Real>::evaluate(const Tile<Real>& to) const {
  switch (term_->kind) {
    case Kind::kDense:
      evaluate_dense(to);
      break;
    case Kind::kLowRank:
      evaluate_low_rank(to);
      break;
    case Kind::kTable:
    case Kind::kLookup:
      evaluate_lookup(to);
      break;
    case Kind::kDistance:
      evaluate_distance(to);
      break;
    case Kind::kQuadratic:
      if (term_->size == 1) evaluate_quadratic<1>(to);
      if (term_->size == 2) evaluate_quadratic<2>(to);
      if (term_->size == 3) evaluate_quadratic<3>(to);
      break;
    case Kind::kGated:
      evaluate_gated(to);
      break;
    case Kind::kScan:
      evaluate_scan(to);
      break;
    case Kind::kCurves:
      split_ ? evaluate_curves<true>(to) : evaluate_curves<false>(to);
      break;
  }
  // Vectors read past the last token: numbers there, any.
  for (std::int64_t i = to.first; i < to.first + to.count; ++i) fill(to.at(i) + tokens_, to.row - tokens_, Real{0});
}

template <typename Real>
void FormTile<Real>::evaluate_dense(const Tile<Real>& to) const {
  for (std::int64_t i = to.first; i < to.first + to.count; ++i) {
    const Real* from = values(0) + i * tokens_;
    Real* row = to.at(i);
    for (std::int64_t j = 0; j < tokens_; ++j) row[j] = from[j];
  }
}

template <typename Real>
void FormTile<Real>::evaluate_low_rank(const Tile<Real>& to) const {
  const std::int64_t size = padded<Real>(term_->size);
  product<Real>(to.count, padded<Real>(tokens_), size, {query_ + to.first * size, size},
                {lanes_, kPanel<Real>, kPanel<Real> * size}, to.data, to.row, Real{1}, false);
  if (term_->parameter[2].data == nullptr) return;
  for (std::int64_t i = to.first; i < to.first + to.count; ++i) {
    Real* row = to.at(i);
    const V more = splat<Real>(values(2)[i]);
    for (std::int64_t j = 0; j < tokens_; j += kWide) store<Real>(row + j, load<Real>(row + j) + more);
  }
}

template <typename Real>
void FormTile<Real>::evaluate_by_runs(const Tile<Real>& to) const {
  const std::int64_t size = term_->size;
  const Index& x = term_->index;
  const auto one = [&](std::int64_t entry) { return work_[place(entry)]; };
  for (std::int64_t i = to.first; i < to.first + to.count; ++i) {
    if (i == to.first || term_->kind == Kind::kLookup) {
      const Real* from = values(0) + (term_->kind == Kind::kLookup ? i * size : 0);
      for (std::int64_t r = 0; r < size; ++r) work_[place(r)] = from[r];
    }
    Real* row = to.at(i);
    if (i < x.prefix) {
      fill(row, x.prefix, one(x.among_prefix));
      fill(row + x.prefix, patches_, one(term_->by_key ? x.to_prefix : x.from_prefix));
    } else {
      if (x.prefix > 0) fill(row, x.prefix, one(term_->by_key ? x.from_prefix : x.to_prefix));
      look_up_runs<Real>(work_, runs_, run_count_, x.code, place_of_query(i - x.prefix), row + x.prefix);
    }
  }
}

template <typename Real>
void FormTile<Real>::evaluate_lookup(const Tile<Real>& to) const {
  const std::int64_t size = term_->size;
  if (run_count_ > 0 && !fits_registers<Real>(size)) return evaluate_by_runs(to);
  const bool rows = term_->kind == Kind::kLookup, by_key = rows && term_->by_key;
  for (std::int64_t i = to.first; i < to.first + to.count; ++i) {
    entries_of(term_->index, tokens_, i, term_->by_key, entries_);
    const Real* from = values(0) + (rows && !by_key ? i * size : 0);
    Real* row = to.at(i);
    if (by_key) {
      for (std::int64_t j = 0; j < tokens_; ++j) row[j] = from[j * size + entries_[j]];
    } else {
      look_up<Real>(from, size, entries_, tokens_, row);
    }
  }
}

template <typename Real>
void FormTile<Real>::evaluate_distance(const Tile<Real>& to) const {
  const V slope = splat<Real>(-values(1)[0]);
  patches(
      to, 0, [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
        V square = {};
        for (std::int64_t a = 0; a < term_->size; ++a) {
          const Real* place = lanes_ + a * wide_;
          const V apart = load<Real>(place + j) - place[i];
          square = fma<Real>(apart, apart, square);
        }
        return slope * square_root<Real>(square);
      });
}

// The products of axes in the order of the form, then the axes: factor(which, value).
template <typename Real, int kAxes, typename Factor>
LOCUS_INLINE void quadratic_factors(const Vector<Real>* apart, Factor factor) {
  int at = 0;
#pragma GCC unroll 3
  for (int a = 0; a < kAxes; ++a) {
#pragma GCC unroll 3
    for (int b = a; b < kAxes; ++b) factor(at++, apart[a] * apart[b]);
  }
#pragma GCC unroll 3
  for (int a = 0; a < kAxes; ++a) factor(at++, apart[a]);
}

template <typename Real>
template <int kAxes>
void FormTile<Real>::evaluate_quadratic(const Tile<Real>& to) const {
  constexpr std::int64_t kNumbers = kAxes * (kAxes + 1) / 2 + kAxes;
  const Real* numbers = values(0);
  patches(
      to, 0, [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
        V apart[kAxes], sum = {};
#pragma GCC unroll 3
        for (int a = 0; a < kAxes; ++a) apart[a] = load<Real>(lanes_ + a * wide_ + j) - lanes_[a * wide_ + i];
        quadratic_factors<Real, kAxes>(
            apart, [&](int which, V value) __attribute__((always_inline)) {
              sum = fma<Real>(value, splat<Real>(numbers[i * kNumbers + which]), sum);
            });
        return sum;
      });
}

template <typename Real>
void FormTile<Real>::evaluate_gated(const Tile<Real>& to) const {
  const Real* gate = values(0);
  for (std::int64_t j = 0; j < patches_; ++j) row_[j] = gate[j];
  fill(row_ + patches_, wide_ - patches_, Real{0});
  patches(
      to, 0, [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
        V apart = {};
        for (std::int64_t a = 0; a < term_->size; ++a) {
          const Real* place = lanes_ + a * wide_;
          apart += magnitude<Real>(load<Real>(place + j) - place[i]);
        }
        return (load<Real>(row_ + j) + gate[i]) * apart;
      });
}

template <typename Real>
void FormTile<Real>::evaluate_scan(const Tile<Real>& to) const {
  patches(
      to, 0, [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
        return -magnitude<Real>(load<Real>(lanes_ + j) - lanes_[i]);
      });
  if (!term_->causal) return;
  for (std::int64_t i = to.first; i < to.first + to.count; ++i) {
    if (i >= term_->prefix) fill(to.at(i) + i + 1, tokens_ - i - 1, -static_cast<Real>(__builtin_inf()));
  }
}

template <typename Real>
template <bool kSplit>
void FormTile<Real>::evaluate_curves(const Tile<Real>& to) const {
  const std::int64_t curves = term_->size;
  const Real alpha = values(1)[0], plus = static_cast<Real>(term_->plus);
  const V part = splat<Real>(alpha / static_cast<Real>(curves)), base = splat<Real>(plus);
  patches(
      to, plus + alpha, [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
        V sum = {};
        for (std::int64_t c = 0; c < curves; ++c) sum += decay<kSplit>(c, i, j);
        return fma<Real>(sum, part, base);
      });
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET

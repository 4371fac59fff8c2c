// From the gradient of a tile to the gradients of what a form is made of.
#pragma once

#include "engine/cpu/form_values.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

template <typename Real>
void FormTile<Real>::lead(const Tile<Real>& from) {
  if (!wants_gradient(*term_)) return;
  switch (term_->kind) {
    case Kind::kDense:
      lead_dense(from);
      break;
    case Kind::kLowRank:
      lead_low_rank(from);
      break;
    case Kind::kTable:
    case Kind::kLookup:
      lead_lookup(from);
      break;
    case Kind::kDistance:
      lead_distance(from);
      break;
    case Kind::kQuadratic:
      if (term_->size == 1) lead_quadratic<1>(from);
      if (term_->size == 2) lead_quadratic<2>(from);
      if (term_->size == 3) lead_quadratic<3>(from);
      break;
    case Kind::kGated:
      lead_gated(from);
      break;
    case Kind::kScan:
      lead_scan(from);
      break;
    case Kind::kCurves:
      split_ ? lead_curves<true>(from) : lead_curves<false>(from);
      break;
  }
}

template <typename Real>
void FormTile<Real>::lead_dense(const Tile<Real>& from) {
  for (std::int64_t i = from.first; i < from.first + from.count; ++i) {
    const Real* row = from.at(i);
    Real* to = gradient(0) + i * tokens_;
    for (std::int64_t j = 0; j < tokens_; ++j) to[j] += row[j];
  }
}

template <typename Real>
void FormTile<Real>::lead_low_rank(const Tile<Real>& from) {
  const std::int64_t size = term_->size, wide = padded<Real>(size);
  const auto add = [&](Real* to, std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t r = 0; r < size; ++r) to[i * size + r] += work_[i * wide + r];
    }
  };
  if (Real* d_query = gradient(0)) {
    product<Real>(from.count, wide, tokens_, {from.data, from.row}, {key_, wide, kPanel<Real>}, work_, wide, Real{1},
                  false);
    add(d_query + from.first * size, from.count);
  }
  if (Real* d_key = gradient(1)) {
    product<Real>(tokens_, wide, from.count, {from.data, from.row, true},
                  {query_ + from.first * wide, wide, kPanel<Real>}, work_, wide, Real{1}, false);
    add(d_key, tokens_);
  }
  if (Real* d_row = gradient(2)) {
    for (std::int64_t i = from.first; i < from.first + from.count; ++i) {
      Real sum = 0;
      for (std::int64_t j = 0; j < tokens_; ++j) sum += from.at(i)[j];
      d_row[i] += sum;
    }
  }
}

template <typename Real>
void FormTile<Real>::lead_by_runs(const Tile<Real>& from) {
  const std::int64_t size = term_->size;
  const bool rows = term_->kind == Kind::kLookup;
  const Index& x = term_->index;
  const auto total = [](const Real* of, std::int64_t count) {
    Real sum = 0;
    for (std::int64_t j = 0; j < count; ++j) sum += of[j];
    return sum;
  };
  const std::int64_t last = from.first + from.count - 1;
  for (std::int64_t i = from.first; i <= last; ++i) {
    if (rows || i == from.first) fill(work_, size, Real{0});
    const Real* row = from.at(i);
    if (i < x.prefix) {
      work_[place(x.among_prefix)] += total(row, x.prefix);
      work_[place(term_->by_key ? x.to_prefix : x.from_prefix)] += total(row + x.prefix, patches_);
    } else {
      if (x.prefix > 0) work_[place(term_->by_key ? x.from_prefix : x.to_prefix)] += total(row, x.prefix);
      sum_runs<Real>(row + x.prefix, runs_, run_count_, x.code, place_of_query(i - x.prefix), work_);
    }
    if (!rows && i != last) continue;
    Real* to = gradient(0) + (rows ? i * size : 0);
    for (std::int64_t r = 0; r < size; ++r) to[r] += work_[place(r)];
  }
}

template <typename Real>
void FormTile<Real>::lead_lookup(const Tile<Real>& from) {
  if (run_count_ > 0) return lead_by_runs(from);
  const std::int64_t size = term_->size;
  const bool rows = term_->kind == Kind::kLookup, by_key = rows && term_->by_key;
  for (std::int64_t i = from.first; i < from.first + from.count; ++i) {
    entries_of(term_->index, tokens_, i, term_->by_key, entries_);
    const Real* row = from.at(i);
    Real* to = gradient(0) + (rows && !by_key ? i * size : 0);
    if (by_key) {
      for (std::int64_t j = 0; j < tokens_; ++j) to[j * size + entries_[j]] += row[j];
    } else {
      sum_by_entry<Real>(row, entries_, tokens_, size, to, work_);
    }
  }
}

template <typename Real>
void FormTile<Real>::lead_distance(const Tile<Real>& from) {
  const std::int64_t axes = term_->size;
  const Real slope = values(1)[0];
  Real *d_places = gradient(0), *d_slope = gradient(1);
  fill(work_, axes * wide_, Real{0});
  patch_rows(from, [&](std::int64_t i, const Real* d) {
    V total = {}, own[kAxesMost] = {};
    for (std::int64_t j = 0; j < patches_; j += kWide) {
      V apart[kAxesMost], square = {};
      for (std::int64_t a = 0; a < axes; ++a) {
        apart[a] = load<Real>(lanes_ + a * wide_ + j) - lanes_[a * wide_ + i];
        square = fma<Real>(apart[a], apart[a], square);
      }
      const V distance = square_root<Real>(square), pull = load<Real>(d + j);
      total = fma<Real>(pull, distance, total);
      if (d_places == nullptr) continue;
      const V none = {};
      const V by = distance > none ? pull * slope / distance : none;  // 0 where they lie together
      for (std::int64_t a = 0; a < axes; ++a) {
        own[a] = fma<Real>(by, apart[a], own[a]);
        store<Real>(work_ + a * wide_ + j, load<Real>(work_ + a * wide_ + j) - by * apart[a]);
      }
    }
    if (d_slope != nullptr) d_slope[0] -= sum_of<Real>(total);
    for (std::int64_t a = 0; d_places != nullptr && a < axes; ++a) d_places[i * axes + a] += sum_of<Real>(own[a]);
  });
  for (std::int64_t j = 0; d_places != nullptr && j < patches_; ++j) {
    for (std::int64_t a = 0; a < axes; ++a) d_places[j * axes + a] += work_[a * wide_ + j];
  }
}

template <typename Real>
template <int kAxes>
void FormTile<Real>::lead_quadratic(const Tile<Real>& from) {
  constexpr int kNumbers = kAxes * (kAxes + 1) / 2 + kAxes;
  Real* to = gradient(0);
  patch_rows(from, [&](std::int64_t i, const Real* d) {
    V sum[kNumbers] = {};
    for (std::int64_t j = 0; j < patches_; j += kWide) {
      V apart[kAxes];
#pragma GCC unroll 3
      for (int a = 0; a < kAxes; ++a) apart[a] = load<Real>(lanes_ + a * wide_ + j) - lanes_[a * wide_ + i];
      const V pull = load<Real>(d + j);
      quadratic_factors<Real, kAxes>(
          apart, [&](int which, V value)
                     __attribute__((always_inline)) { sum[which] = fma<Real>(pull, value, sum[which]); });
    }
#pragma GCC unroll 9
    for (int which = 0; which < kNumbers; ++which) to[i * kNumbers + which] += sum_of<Real>(sum[which]);
  });
}

template <typename Real>
void FormTile<Real>::lead_gated(const Tile<Real>& from) {
  Real* to = gradient(0);
  fill(work_, wide_, Real{0});
  patch_rows(from, [&](std::int64_t i, const Real* d) {
    V own = {};
    for (std::int64_t j = 0; j < patches_; j += kWide) {
      V apart = {};
      for (std::int64_t a = 0; a < term_->size; ++a) {
        const Real* place = lanes_ + a * wide_;
        apart += magnitude<Real>(load<Real>(place + j) - place[i]);
      }
      const V pull = load<Real>(d + j) * apart;
      own += pull;
      store<Real>(work_ + j, load<Real>(work_ + j) + pull);
    }
    to[i] += sum_of<Real>(own);
  });
  for (std::int64_t j = 0; j < patches_; ++j) to[j] += work_[j];
}

template <typename Real>
void FormTile<Real>::lead_scan(const Tile<Real>& from) {
  Real* to = gradient(0);
  fill(work_, wide_, Real{0});
  patch_rows(from, [&](std::int64_t i, const Real* d) {
    V own = {};
    const V none = {};
    for (std::int64_t j = 0; j < patches_; j += kWide) {
      const V apart = load<Real>(lanes_ + j) - lanes_[i], pull = load<Real>(d + j);
      const V turned = apart > none ? pull : apart < none ? -pull : none;  // D sign(s_j - s_i)
      own += turned;
      store<Real>(work_ + j, load<Real>(work_ + j) - turned);
    }
    to[i] += sum_of<Real>(own);
  });
  for (std::int64_t j = 0; j < patches_; ++j) to[j] += work_[j];
}

// Pairs with a prefix token count for alpha, which is all of them there, and not for the rates.
template <typename Real>
template <bool kSplit>
void FormTile<Real>::lead_curves(const Tile<Real>& from) {
  const std::int64_t curves = term_->size, prefix = term_->prefix;
  const Real part = 1 / static_cast<Real>(curves), alpha = values(1)[0];
  Real *d_rate = gradient(0), *d_alpha = gradient(1);
  Real outside = 0;
  for (std::int64_t i = from.first; i < from.first + from.count; ++i) {
    for (std::int64_t j = 0; j < (i < prefix ? tokens_ : prefix); ++j) outside += from.at(i)[j];
  }
  if (d_alpha != nullptr) d_alpha[0] += outside;
  patch_rows(from, [&](std::int64_t i, const Real* d) {
    V total = {};
    for (std::int64_t c = 0; c < curves; ++c) {
      const Real* rank = lanes_ + c * wide_;
      V by_distance = {};
      for (std::int64_t j = 0; j < patches_; j += kWide) {
        const V apart = magnitude<Real>(load<Real>(rank + j) - rank[i]);
        const V pull = load<Real>(d + j) * decay<kSplit>(c, i, j);
        total += pull;
        by_distance = fma<Real>(pull, apart, by_distance);
      }
      if (d_rate != nullptr) d_rate[c] -= alpha * part * sum_of<Real>(by_distance);
    }
    if (d_alpha != nullptr) d_alpha[0] += part * sum_of<Real>(total);
  });
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET

// Tiles of forms: values of a block of queries against all keys, from what the forms are made of, and the way back from the
// gradient of a tile. Formulas and their derivatives are those of engine/layers/forms.h.
#pragma once

#include "engine/cpu/lookup.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// Which part of the batch a tile belongs to.
struct Place {
  std::int64_t b = 0, h = 0, group = 0, range = 0;
};

// Rows [first, first + count) of a matrix [T, row].
template <typename Real>
struct Tile {
  Real* data;
  std::int64_t row, first, count;
  Real* at(std::int64_t i) const { return data + (i - first) * row; }
};

template <typename Real>
LOCUS_INLINE const Real* values_of(const Parameter& p, const Place& at) {
  return static_cast<const Real*>(p.data) + (p.by_sample ? at.b * p.batch : 0) + at.h * p.head;
}

template <typename Real>
LOCUS_INLINE Real* gradient_of(const Parameter& p, const Place& at) {
  if (p.gradient == nullptr) return nullptr;
  return static_cast<Real*>(p.gradient) + at.range * p.gradient_range +
         (p.by_sample ? at.b : at.group) * p.gradient_outer + at.h * p.gradient_head;
}

inline bool wants_gradient(const Term& term) {
  for (const Parameter& p : term.parameter) {
    if (p.gradient != nullptr) return true;
  }
  return term.share.gradient != nullptr;
}

inline bool by_sample(const Term& term) {
  for (const Parameter& p : term.parameter) {
    if (p.by_sample) return true;
  }
  return term.positions_batch != 0 || term.share.by_sample;
}

// The entries of the pairs (i, j) for all j; `turned`: of the pairs (j, i).
inline void entries_of(const Index& x, std::int64_t tokens, std::int64_t i, bool turned, std::int32_t* to) {
  if (x.dense != nullptr) {
    const std::int64_t step = turned ? tokens : 1;
    const std::int64_t* from = x.dense + i * (turned ? 1 : tokens);
    for (std::int64_t j = 0; j < tokens; ++j) to[j] = static_cast<std::int32_t>(from[j * step]);
    return;
  }
  const std::int64_t patches = tokens - x.prefix;
  const auto in_prefix = static_cast<std::int32_t>(i < x.prefix ? x.among_prefix
                                                   : turned     ? x.from_prefix
                                                                : x.to_prefix);
  for (std::int64_t j = 0; j < x.prefix; ++j) to[j] = in_prefix;
  to += x.prefix;
  if (i < x.prefix) {
    const auto one = static_cast<std::int32_t>(turned ? x.to_prefix : x.from_prefix);
    for (std::int64_t j = 0; j < patches; ++j) to[j] = one;
    return;
  }
  const std::int32_t sign = turned ? -1 : 1;
  const std::int32_t own = sign * x.code[i - x.prefix] + static_cast<std::int32_t>(x.shift);
  for (std::int64_t j = 0; j < patches; ++j) to[j] = own - sign * x.code[j];
  if (x.map == nullptr) return;
  for (std::int64_t j = 0; j < patches; ++j) to[j] = x.map[to[j]];
}

// A form with room to work in. One sample and head at a time.
template <typename Real>
class FormTile {
 public:
  FormTile() = default;
  FormTile(const Term& term, std::int64_t tokens, std::int64_t rows, Space& space)
      : term_(&term),
        tokens_(tokens),
        patches_(tokens - (looks_up(term) ? term.index.prefix : term.prefix)),
        wide_(padded<Real>(patches_)) {
    const bool axes = term.kind == Kind::kDistance || term.kind == Kind::kQuadratic || term.kind == Kind::kGated;
    if (axes || term.kind == Kind::kCurves) lanes_ = space.take<Real>(term.size * wide_);
    if (term.kind == Kind::kCurves && kSplits) rising_ = space.take<Real>(2 * term.size * wide_);
    if (term.kind == Kind::kScan) lanes_ = space.take<Real>(wide_);
    if (looks_up(term)) entries_ = space.take<std::int32_t>(tokens), runs_ = space.take<Run>(patches_);
    if (term.kind == Kind::kLowRank) {
      const std::int64_t size = padded<Real>(term.size);
      lanes_ = space.take<Real>(panels_size<Real>(tokens, term.size));
      key_ = space.take<Real>(tokens * size);
      query_ = space.take<Real>(tokens * size);
      work_ = space.take<Real>((tokens > rows ? tokens : rows) * size);
    } else {
      const std::int64_t least = looks_up(term) ? kSumCopies * kSumSize : 0;
      const std::int64_t wide = looks_up(term) ? term.size : (axes ? term.size : 1) * wide_;
      work_ = space.take<Real>(wide > least ? wide : least);
    }
    row_ = space.take<Real>(wide_);
  }

  const Term& term() const { return *term_; }
  static bool looks_up(const Term& term) { return term.kind == Kind::kTable || term.kind == Kind::kLookup; }
  void prepare(const Place& at);
  void evaluate(const Tile<Real>& to) const;
  // Adds what the gradient of the tile gives to the parameters.
  void lead(const Tile<Real>& gradient);

 private:
  using V = Vector<Real>;
  static constexpr std::int64_t kWide = kLanes<Real>;
  const Real* values(int which) const { return values_of<Real>(term_->parameter[which], place_); }
  Real* gradient(int which) const { return gradient_of<Real>(term_->parameter[which], place_); }
  void prepare_low_rank();
  void prepare_curves();
  void prepare_lookup();

  // The decay along a curve of rank r, e^(-rate |r_j - r_i|), is the lesser of e^(rate (r_j - r_i)) and e^(rate (r_i - r_j)), and
  // both are products of a number of i and one of j: two exponentials a patch in place of one a pair. What is kept is made in
  // double, so the product is as exact as an exponential of the rounded distance; the greater one may be infinite. Where rates
  // are so large, or below 0, that an exponential of half the distance leaves the numbers, and in double, it is one a pair.
  static constexpr bool kSplits = sizeof(Real) == 4;
  template <bool kSplit>
  LOCUS_INLINE V decay(std::int64_t curve, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = curve * wide_;
    if constexpr (kSplit) {
      const Real *rising = rising_ + at, *falling = rising + term_->size * wide_;
      return lesser<Real>(load<Real>(rising + j) * falling[i], load<Real>(falling + j) * rising[i]);
    } else {
      return exponential<Real>(magnitude<Real>(load<Real>(lanes_ + at + j) - lanes_[at + i]) * -values(0)[curve]);
    }
  }

  // entry(i, j) of patches, `outside` where a prefix token is involved.
  template <typename Entry>
  LOCUS_INLINE void patches(const Tile<Real>& to, Real outside, Entry entry) const {
    const std::int64_t prefix = term_->prefix;
    for (std::int64_t i = to.first; i < to.first + to.count; ++i) {
      Real* row = to.at(i);
      if (i < prefix) {
        fill(row, tokens_, outside);
        continue;
      }
      for (std::int64_t j = 0; j < patches_; j += kWide) store<Real>(row + prefix + j, entry(i - prefix, j));
      fill(row, prefix, outside);
    }
  }
  // row(i, d) for every patch i, d the gradient of its patches and zeros behind them.
  template <typename Row>
  LOCUS_INLINE void patch_rows(const Tile<Real>& from, Row row) const {
    const std::int64_t prefix = term_->prefix;
    for (std::int64_t i = from.first; i < from.first + from.count; ++i) {
      if (i < prefix) continue;
      const Real* d = from.at(i) + prefix;
      for (std::int64_t j = 0; j < patches_; ++j) row_[j] = d[j];
      fill(row_ + patches_, wide_ - patches_, Real{0});
      row(i - prefix, row_);
    }
  }

  void evaluate_dense(const Tile<Real>& to) const;
  void evaluate_low_rank(const Tile<Real>& to) const;
  void evaluate_lookup(const Tile<Real>& to) const;
  void evaluate_by_runs(const Tile<Real>& to) const;
  void evaluate_distance(const Tile<Real>& to) const;
  template <int kAxes>
  void evaluate_quadratic(const Tile<Real>& to) const;
  void evaluate_gated(const Tile<Real>& to) const;
  void evaluate_scan(const Tile<Real>& to) const;
  template <bool kSplit>
  void evaluate_curves(const Tile<Real>& to) const;
  void lead_dense(const Tile<Real>& from);
  void lead_low_rank(const Tile<Real>& from);
  void lead_lookup(const Tile<Real>& from);
  void lead_by_runs(const Tile<Real>& from);

  bool rows_of_keys() const { return term_->kind == Kind::kLookup && term_->by_key; }
  // Where a table is read by runs (lookup.h) it lies in work_ so that entries rise with the code of the key: in reverse, unless
  // the entry is that of (j, i).
  std::int64_t place(std::int64_t entry) const { return term_->by_key ? entry : term_->size - 1 - entry; }
  std::int64_t place_of_query(std::int64_t patch) const {
    const Index& x = term_->index;
    return place(x.shift + (term_->by_key ? -x.code[patch] : x.code[patch]));
  }
  void lead_distance(const Tile<Real>& from);
  template <int kAxes>
  void lead_quadratic(const Tile<Real>& from);
  void lead_gated(const Tile<Real>& from);
  void lead_scan(const Tile<Real>& from);
  template <bool kSplit>
  void lead_curves(const Tile<Real>& from);

  const Term* term_ = nullptr;
  std::int64_t tokens_ = 0, patches_ = 0, wide_ = 0;
  Place place_;
  Real* lanes_ = nullptr;   // by axis or curve, [size, padded N]: places and ranks; the panels of a low rank's keys
  Real* rising_ = nullptr;  // of curves, [2, size, padded N]: e^(rate x) and e^(-rate x), x the rank from the middle on
  bool split_ = false;      // whether these are numbers
  Real *key_ = nullptr, *query_ = nullptr, *work_ = nullptr, *row_ = nullptr;
  std::int32_t* entries_ = nullptr;
  Run* runs_ = nullptr;  // of lookups by a rule, where they are long
  std::int64_t run_count_ = 0;
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET

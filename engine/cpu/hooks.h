// What is done to the probabilities of a block of queries, and the tables whose values they sum, both ways.
#pragma once

#include "engine/cpu/algebra.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// One term that acts on P, with a tile of its own: a factor, a summand, or the probabilities of place that are blended in.
template <typename Real>
class ProbabilityHook {
 public:
  ProbabilityHook() = default;
  ProbabilityHook(FormTile<Real>& form, const Problem& problem, Space& space, bool backward)
      : form_(&form),
        tokens_(problem.tokens),
        row_(row_size<Real>(problem.tokens)),
        wide_(padded<Real>(problem.tokens)),
        shared_(!by_sample(form.term())),
        wants_(wants_gradient(form.term())) {
    const std::int64_t rows = shared_ ? problem.kept_blocks * problem.block : problem.block;
    tile_ = space.take<Real>(rows * row_);
    if (!backward) return;
    before_ = space.take<Real>(problem.block * row_);
    if (wants_) gathered_ = space.take<Real>(rows * row_);
  }

  bool shared() const { return shared_; }
  void prepare(const Place& at) { form_->prepare(at), place_ = at; }

  void evaluate(std::int64_t first, std::int64_t rows) {
    first_ = first, rows_ = rows;
    form_->evaluate({tile_, row_, first, rows});
    if (gathered_ != nullptr) fill(gathered_, rows * row_, Real{0});
    if (!blends()) return;
    const std::int64_t prefix = term().blend_prefix;
    for (std::int64_t i = first; i < first + rows; ++i) {
      Real* row = tile_ + (i - first) * row_;
      fill(row, i < prefix ? tokens_ : prefix, i < prefix ? Real{0} : -static_cast<Real>(__builtin_inf()));
      if (i < prefix) continue;
      const Real factor = softmax_row<Real, false>(row, tokens_, {}).factor;
      for (std::int64_t j = 0; j < wide_; ++j) row[j] *= factor;
    }
  }

  // P of rows [first, first + rows), in place; for the way back it is kept as it was.
  void act(Real* p, std::int64_t first, std::int64_t rows) {
    for (std::int64_t i = first; i < first + rows; ++i) {
      Real* row = p + (i - first) * row_;
      const Real* by = at(i);
      if (before_ != nullptr) __builtin_memcpy(before_ + (i - first) * row_, row, sizeof(Real) * row_);
      const Real part = share(i);
      for (std::int64_t j = 0; j < wide_; ++j) {
        if (term().role == Role::kTimes) row[j] *= by[j];
        if (term().role == Role::kPlus) row[j] += by[j];
        if (term().role == Role::kBlend) row[j] = (1 - part) * row[j] + part * by[j];
      }
    }
  }

  // The gradient of what act() made becomes that of what it was given.
  void act_back(Real* gradient, std::int64_t first, std::int64_t rows) {
    for (std::int64_t i = first; i < first + rows; ++i) {
      Real* d = gradient + (i - first) * row_;
      const Real* before = before_ + (i - first) * row_;
      Real* to = gathered_ != nullptr ? gathered_ + (i - first_) * row_ : nullptr;
      const Real part = share(i);
      const bool times = term().role == Role::kTimes;
      for (std::int64_t j = 0; to != nullptr && j < wide_; ++j) to[j] += times ? d[j] * before[j] : d[j];
      if (times) {
        for (std::int64_t j = 0; j < wide_; ++j) d[j] *= at(i)[j];
      }
      if (!blends() || i < term().blend_prefix) continue;
      if (Real* d_share = gradient_of<Real>(term().share, place_)) d_share[0] -= dot(d, before);
      for (std::int64_t j = 0; j < wide_; ++j) d[j] *= 1 - part;
    }
  }

  // Leads what was gathered to the parameters. A blend's is linear in the gradient of P: it was summed as such.
  void lead() {
    if (gathered_ == nullptr) return;
    for (std::int64_t i = first_; blends() && i < first_ + rows_; ++i) {
      Real* d = gathered_ + (i - first_) * row_;
      const Real* place = at(i);
      const Real along = dot(d, place), part = share(i);
      Real* d_share = gradient_of<Real>(term().share, place_);
      if (d_share != nullptr && i >= term().blend_prefix) d_share[0] += along;
      for (std::int64_t j = 0; j < wide_; ++j) d[j] = part * place[j] * (d[j] - along);
    }
    form_->lead({gathered_, row_, first_, rows_});
  }

 private:
  const Term& term() const { return form_->term(); }
  bool blends() const { return term().role == Role::kBlend; }
  const Real* at(std::int64_t i) const { return tile_ + (i - first_) * row_; }
  Real share(std::int64_t i) const {
    return blends() && i >= term().blend_prefix ? values_of<Real>(term().share, place_)[0] : 0;
  }
  Real dot(const Real* a, const Real* b) const {
    Vector<Real> sum = {};
    for (std::int64_t j = 0; j < wide_; j += kLanes<Real>) sum = fma<Real>(load<Real>(a + j), load<Real>(b + j), sum);
    return sum_of<Real>(sum);
  }

  FormTile<Real>* form_ = nullptr;
  std::int64_t tokens_ = 0, row_ = 0, wide_ = 0, first_ = 0, rows_ = 0;
  bool shared_ = false, wants_ = false;
  Place place_;
  Real *tile_ = nullptr, *before_ = nullptr, *gathered_ = nullptr;
};

// A table of values: P is summed by entry, then there is one product.
template <typename Real>
class ValueSums {
 public:
  ValueSums() = default;
  ValueSums(const Table& table, const Problem& problem, Space& space, bool backward)
      : table_(&table),
        tokens_(problem.tokens),
        width_(problem.width),
        row_(row_size<Real>(problem.tokens)),
        wide_(padded<Real>(table.size)) {
    values_ = space.take<Real>(table.size * padded<Real>(width_));
    sums_ = space.take<Real>(problem.block * wide_);
    entries_ = space.take<std::int32_t>(tokens_);
    copies_ = space.take<Real>(kSumCopies * kSumSize);
    if (!backward) return;
    panels_ = space.take<Real>(panels_size<Real>(table.size, width_));
    gradient_ = space.take<Real>(table.size * padded<Real>(width_));
  }

  void prepare(const Place& at) {
    place_ = at;
    const std::int64_t wide = padded<Real>(width_);
    copy_in<Real>(values_of<Real>(table_->table, at), width_, table_->size, width_, values_, [](Real x) { return x; });
    if (panels_ != nullptr) pack_panels<Real>({values_, wide}, table_->size, wide, panels_);
  }

  // out [rows, padded width] += sums of p by entry, times the table.
  void add(const Real* p, std::int64_t first, std::int64_t rows, Real* out) {
    sum_up(p, first, rows);
    const std::int64_t wide = padded<Real>(width_);
    product<Real>(rows, wide, table_->size, {sums_, wide_}, {values_, wide, kPanel<Real>}, out, wide, Real{1}, true);
  }

  // Adds to the gradients of P and of the table; d_out rows of `d_row` numbers.
  void add_back(const Real* p, View<Real> d_out, std::int64_t first, std::int64_t rows, Real* gradient) {
    const std::int64_t wide = padded<Real>(width_);
    if (Real* to = gradient_of<Real>(table_->table, place_)) {
      sum_up(p, first, rows);
      product<Real>(table_->size, wide, rows, {sums_, wide_, true}, {d_out.data, d_out.row, kPanel<Real>}, gradient_,
                    wide, Real{1}, false);
      for (std::int64_t r = 0; r < table_->size; ++r) {
        for (std::int64_t d = 0; d < width_; ++d) to[r * width_ + d] += gradient_[r * wide + d];
      }
    }
    product<Real>(rows, wide_, wide, {d_out.data, d_out.row}, {panels_, kPanel<Real>, kPanel<Real> * wide}, sums_,
                  wide_, Real{1}, false);
    for (std::int64_t i = 0; i < rows; ++i) {
      entries_of(table_->index, tokens_, first + i, false, entries_);
      for (std::int64_t j = 0; j < tokens_; ++j) gradient[i * row_ + j] += sums_[i * wide_ + entries_[j]];
    }
  }

 private:
  void sum_up(const Real* p, std::int64_t first, std::int64_t rows) {
    fill(sums_, rows * wide_, Real{0});
    for (std::int64_t i = 0; i < rows; ++i) {
      entries_of(table_->index, tokens_, first + i, false, entries_);
      sum_by_entry<Real>(p + i * row_, entries_, tokens_, table_->size, sums_ + i * wide_, copies_);
    }
  }

  const Table* table_ = nullptr;
  std::int64_t tokens_ = 0, width_ = 0, row_ = 0, wide_ = 0;
  Place place_;
  Real *values_ = nullptr, *sums_ = nullptr, *copies_ = nullptr, *panels_ = nullptr, *gradient_ = nullptr;
  std::int32_t* entries_ = nullptr;
};

// All of them, in order.
template <typename Real>
class Hooks {
 public:
  Hooks(const Problem& problem, FormTile<Real>* forms, Space& space, bool backward) {
    for (int n = 0; n < problem.term_count; ++n) {
      if (problem.terms[n].role > Role::kSumScale)
        hook_[hooks_++] = ProbabilityHook<Real>(forms[n], problem, space, backward);
    }
    for (int n = 0; n < problem.table_count; ++n)
      table_[tables_++] = ValueSums<Real>(problem.tables[n], problem, space, backward);
  }
  bool any() const { return hooks_ + tables_ > 0; }
  void begin_rows(const Place& at, std::int64_t first, std::int64_t rows) { begin(true, &at, first, rows); }
  void begin_sample(const Place& at) {
    for (int n = 0; n < hooks_; ++n) {
      if (!hook_[n].shared()) hook_[n].prepare(at);
    }
    for (int n = 0; n < tables_; ++n) table_[n].prepare(at);
  }
  void begin_block(std::int64_t first, std::int64_t rows) { begin(false, nullptr, first, rows); }
  void end_block() { lead(false); }
  void end_rows() { lead(true); }
  void act(Real* p, std::int64_t first, std::int64_t rows) {
    for (int n = 0; n < hooks_; ++n) hook_[n].act(p, first, rows);
  }
  void add_values(const Real* p, std::int64_t first, std::int64_t rows, Real* out) {
    for (int n = 0; n < tables_; ++n) table_[n].add(p, first, rows, out);
  }
  void add_values_back(const Real* p, View<Real> d_out, std::int64_t first, std::int64_t rows, Real* gradient) {
    for (int n = 0; n < tables_; ++n) table_[n].add_back(p, d_out, first, rows, gradient);
  }
  void act_back(Real* gradient, std::int64_t first, std::int64_t rows) {
    for (int n = hooks_; n-- > 0;) hook_[n].act_back(gradient, first, rows);
  }

 private:
  void begin(bool shared, const Place* at, std::int64_t first, std::int64_t rows) {
    for (int n = 0; n < hooks_; ++n) {
      if (hook_[n].shared() != shared) continue;
      if (at != nullptr) hook_[n].prepare(*at);
      hook_[n].evaluate(first, rows);
    }
  }
  void lead(bool shared) {
    for (int n = 0; n < hooks_; ++n) {
      if (hook_[n].shared() == shared) hook_[n].lead();
    }
  }

  ProbabilityHook<Real> hook_[kTermsMost];
  ValueSums<Real> table_[kTablesMost];
  int hooks_ = 0, tables_ = 0;
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET

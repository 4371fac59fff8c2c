// The terms of one unit of work, by role: their tiles, and the gradients of those.
#pragma once

#include "engine/cpu/form_gradients.h"
#include "engine/cpu/rows.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// Which queries a unit has: blocks, and runs of blocks whose shared tiles are kept at a time.
struct Blocks {
  Blocks(const Problem& p, std::int64_t range)
      : tokens(p.tokens),
        total((p.tokens + p.block - 1) / p.block),
        begin(total * range / p.ranges),
        end(total * (range + 1) / p.ranges) {}
  std::int64_t row(std::int64_t block) const { return tokens * block / total; }
  std::int64_t tokens, total, begin, end;
};

// Terms of one role that are multiplied, or added, into one tile.
template <typename Real>
struct TermSet {
  FormTile<Real>* form[kTermsMost];
  Real* tile[kTermsMost];  // of each, where several are multiplied
  int count = 0;
  bool sums = false, shared = false, wants = false;
  Real *whole = nullptr, *gathered = nullptr, *spare = nullptr;
  std::int64_t row = 0, first = 0;

  void add(FormTile<Real>& one) {
    form[count++] = &one;
    wants = wants || wants_gradient(one.term());
  }
  void take(Space& space, std::int64_t rows, std::int64_t row_size, bool backward) {
    row = row_size;
    if (count == 0) return;
    whole = space.take<Real>(rows * row);
    if (count > 1) spare = space.take<Real>(rows * row);
    for (int n = 0; n < count && count > 1 && !sums; ++n) tile[n] = space.take<Real>(rows * row);
    if (backward && wants) gathered = space.take<Real>(rows * row);
  }
  void prepare(const Place& at) {
    for (int n = 0; n < count; ++n) form[n]->prepare(at);
  }
  void evaluate(std::int64_t from, std::int64_t rows) {
    first = from;
    for (int n = 0; n < count; ++n) {
      Real* to = count == 1 || (sums && n == 0) ? whole : sums ? spare : tile[n];
      form[n]->evaluate({to, row, from, rows});
      if (to == whole) continue;
      for (std::int64_t k = 0; k < rows * row; ++k)
        whole[k] = sums ? whole[k] + to[k] : n > 0 ? whole[k] * to[k] : to[k];
    }
  }
  const Real* at(std::int64_t i) const { return count > 0 ? whole + (i - first) * row : nullptr; }
  Real* gradient_at(std::int64_t i) const { return gathered != nullptr ? gathered + (i - first) * row : nullptr; }
  void clear(std::int64_t rows) {
    if (gathered != nullptr) fill(gathered, rows * row, Real{0});
  }
  void lead(std::int64_t rows) {
    if (gathered == nullptr) return;
    for (int n = 0; n < count; ++n) {
      if (!wants_gradient(form[n]->term())) continue;
      if (sums || count == 1) {
        form[n]->lead({gathered, row, first, rows});
        continue;
      }
      for (std::int64_t k = 0; k < rows * row; ++k) spare[k] = gathered[k];
      for (int m = 0; m < count; ++m) {
        for (std::int64_t k = 0; m != n && k < rows * row; ++k) spare[k] *= tile[m][k];
      }
      form[n]->lead({spare, row, first, rows});
    }
  }
};

// Everything between the content and the softmax.
template <typename Real>
class Algebra {
 public:
  // `forms` has room for all terms of the problem.
  Algebra(const Problem& problem, FormTile<Real>* forms, Space& space, bool backward) : problem_(problem) {
    const std::int64_t row = row_size<Real>(problem.tokens);
    bool one_sample[3] = {};  // of scales, biases, sum scales: whether one of the role depends on the sample
    for (int n = 0; n < problem.term_count; ++n) {
      const Term& term = problem.terms[n];
      if (term.role <= Role::kSumScale && by_sample(term)) one_sample[static_cast<int>(term.role)] = true;
    }
    for (int n = 0; n < problem.term_count; ++n) {
      const Term& term = problem.terms[n];
      if (term.role == Role::kScale) scales_.add(forms[n]);
      if (term.role == Role::kSumScale) sum_scales_.add(forms[n]);
      if (term.role == Role::kBias) (by_sample(term) ? own_ : shared_).add(forms[n]);
    }
    scales_.shared = !one_sample[0], sum_scales_.shared = !one_sample[2], shared_.shared = true;
    own_.sums = shared_.sums = true;
    for (TermSet<Real>* set : {&scales_, &sum_scales_, &shared_, &own_}) {
      set->take(space, set->shared ? problem.kept_blocks * problem.block : problem.block, row, backward);
      any_ = any_ || set->count > 0;
    }
    if (problem.region != nullptr) {
      region_ = space.take<Real>(row);
      any_ = true;
    }
  }

  bool any() const { return any_; }
  void begin_rows(const Place& at, std::int64_t first, std::int64_t rows) {
    for (TermSet<Real>* set : {&scales_, &sum_scales_, &shared_}) {
      if (!set->shared || set->count == 0) continue;
      set->prepare(at);
      set->evaluate(first, rows);
      set->clear(rows);
    }
  }
  void end_rows(std::int64_t rows) {
    for (TermSet<Real>* set : {&scales_, &sum_scales_, &shared_}) {
      if (set->shared) set->lead(rows);
    }
  }
  void begin_sample(const Place& at) {
    for (TermSet<Real>* set : {&scales_, &sum_scales_, &own_}) {
      if (!set->shared) set->prepare(at);
    }
    if (region_ == nullptr) return;
    const std::int8_t* from = problem_.region + at.b % problem_.windows * problem_.tokens;
    for (std::int64_t j = 0; j < problem_.tokens; ++j) region_[j] = static_cast<Real>(from[j]);
  }
  void begin_block(std::int64_t first, std::int64_t rows) {
    for (TermSet<Real>* set : {&scales_, &sum_scales_, &own_}) {
      if (!set->shared && set->count > 0) set->evaluate(first, rows);
    }
    if (own_.count == 0 || shared_.count == 0) return;
    const Real* more = shared_.at(first);
    for (std::int64_t k = 0; k < rows * own_.row; ++k) own_.whole[k] += more[k];
  }
  void end_block(std::int64_t rows) {
    for (TermSet<Real>* set : {&scales_, &sum_scales_, &own_}) {
      if (!set->shared) set->lead(rows);
    }
  }

  RowTerms<Real> row(std::int64_t i) const {
    RowTerms<Real> out;
    out.scale = scales_.at(i), out.sum_scale = sum_scales_.at(i);
    out.bias = own_.count > 0 ? own_.at(i) : shared_.at(i);
    if (region_ != nullptr) {
      out.region = region_, out.own_region = region_[i];
      out.hidden = static_cast<Real>(problem_.hidden);
    }
    return out;
  }
  RowGradients<Real> gradients(std::int64_t i) const {
    RowGradients<Real> out;
    out.scale = scales_.gradient_at(i), out.add_scale = scales_.shared;
    out.sum_scale = sum_scales_.gradient_at(i), out.add_sum_scale = sum_scales_.shared;
    out.shared_bias = shared_.gradient_at(i), out.own_bias = own_.gradient_at(i);
    return out;
  }

 private:
  const Problem& problem_;
  TermSet<Real> scales_, sum_scales_, shared_, own_;
  Real* region_ = nullptr;
  bool any_ = false;
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET

// A unit of work of blocked attention, forward and backward, and the table of functions that a file of one target defines.
#pragma once

#include "engine/cpu/hooks.h"
#include "engine/cpu/operands.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// What both ways share: whose unit it is, its terms and hooks.
template <typename Real>
struct Unit {
  Unit(const Problem& problem, std::int64_t unit, Space& space, bool backward)
      : p(problem),
        place{0, unit / problem.ranges % problem.heads, unit / problem.ranges / problem.heads, unit % problem.ranges},
        blocks(problem, place.range),
        row(row_size<Real>(problem.tokens)),
        columns(padded<Real>(problem.tokens)),
        wide(padded<Real>(problem.width)),
        algebra(problem, make_forms(problem, space), space, backward),
        hooks(problem, form, space, backward) {
    place.b = place.group * p.group;
    end = place.b + p.group < p.batch ? place.b + p.group : p.batch;
  }

  FormTile<Real>* make_forms(const Problem& problem, Space& space) {
    for (int n = 0; n < problem.term_count; ++n)
      form[n] = FormTile<Real>(problem.terms[n], problem.tokens, problem.block * problem.kept_blocks, space);
    return form;
  }
  void begin_rows(const Place& first_sample, std::int64_t first, std::int64_t rows) {
    algebra.begin_rows(first_sample, first, rows);
    hooks.begin_rows(first_sample, first, rows);
  }
  void begin_sample(const Place& at) {
    algebra.begin_sample(at);
    hooks.begin_sample(at);
  }
  RowSum<Real>* kept(const Place& at) const {
    return static_cast<RowSum<Real>*>(p.kept) + (at.b * p.heads + at.h) * p.tokens;
  }

  const Problem& p;
  Place place;
  Blocks blocks;
  std::int64_t row, columns, wide, end;  // apart, and numbers, of a row of keys; numbers of one of channels
  FormTile<Real> form[kTermsMost];
  Algebra<Real> algebra;
  Hooks<Real> hooks;
};

// kPairs: products take bfloat16 operands.
template <typename Real, bool kPairs>
class Forward {
 public:
  Forward(const Problem& problem, std::int64_t unit, Space& space)
      : u_(problem, unit, space, false), o_{problem.tokens, problem.width} {
    room_ = space.take<Real>(problem.tokens * o_.row_words());
    values_ = space.take<Real>(o_.right_room(problem.tokens));
    keys_ = space.take<Real>(round_up(problem.tokens, kPanel<Real>) * o_.row_words());
    queries_ = space.take<Real>(problem.block * o_.row_words());
    logits_ = space.take<Real>(problem.block * u_.row);
    rounded_ = space.take<Real>(o_.tile_room(problem.block));
    out_ = space.take<Real>(problem.block * u_.wide);
    factor_ = space.take<Real>(problem.block);
  }

  void run() {
    const Problem& p = u_.p;
    const Blocks& blocks = u_.blocks;
    for (std::int64_t kept = blocks.begin; kept < blocks.end; kept += p.kept_blocks) {
      const std::int64_t last = kept + p.kept_blocks < blocks.end ? kept + p.kept_blocks : blocks.end;
      Place at = u_.place;
      u_.begin_rows(at, blocks.row(kept), blocks.row(last) - blocks.row(kept));
      for (; at.b < u_.end; ++at.b) {
        pack_panels<Real>(o_.rows(p.k, at, 0, p.tokens, room_), p.tokens, o_.row_words(), keys_);
        const View<Real> v = kPairs ? View<Real>{} : o_.rows(p.v, at, 0, p.tokens, room_);
        v_ = o_.right(p.v, at, 0, p.tokens, v, values_);
        u_.begin_sample(at);
        for (std::int64_t n = kept; n < last; ++n) block(at, blocks.row(n), blocks.row(n + 1) - blocks.row(n));
      }
    }
  }

 private:
  void block(const Place& at, std::int64_t first, std::int64_t rows) {
    const Problem& p = u_.p;
    const View<Real> q = o_.rows(p.q, at, first, rows, queries_);
    product<Real, kPairs>(rows, u_.columns, o_.channels(), {q.data, q.row},
                          {keys_, kPanel<Real>, kPanel<Real> * o_.row_words()}, logits_, u_.row,
                          static_cast<Real>(p.scale), false);
    u_.algebra.begin_block(first, rows);
    const bool hooked = u_.hooks.any();
    for (std::int64_t i = 0; i < rows; ++i) {
      Real* row = logits_ + i * u_.row;
      const RowSum<Real> sum = u_.algebra.any() ? softmax_row<Real, true>(row, p.tokens, u_.algebra.row(first + i))
                                                : softmax_row<Real, false>(row, p.tokens, {});
      factor_[i] = sum.factor;
      u_.kept(at)[first + i] = sum;
      for (std::int64_t j = 0; hooked && j < u_.columns; ++j) row[j] *= factor_[i];
    }
    if (hooked) {
      u_.hooks.begin_block(first, rows);
      u_.hooks.act(logits_, first, rows);
    }
    product<Real, kPairs>(rows, u_.wide, o_.over(p.tokens), o_.by_keys(logits_, u_.row, rows, rounded_), v_, out_,
                          u_.wide, Real{1}, false);
    u_.hooks.add_values(logits_, first, rows, out_);
    write_rows<Real>(out_, hooked ? nullptr : factor_, p.out, at.b, at.h, first, rows, p.width);
  }

  Unit<Real> u_;
  Operands<Real, kPairs> o_;
  Right<Real> v_{};
  Real *room_, *values_, *keys_, *queries_, *logits_, *rounded_, *out_, *factor_;
};

template <typename Real, bool kPairs>
class Backward {
 public:
  Backward(const Problem& problem, std::int64_t unit, Space& space)
      : u_(problem, unit, space, true), o_{problem.tokens, problem.width} {
    const std::int64_t all = problem.tokens * u_.wide, words = o_.row_words(), tile = problem.block * u_.row;
    room_k_ = space.take<Real>(problem.tokens * words), room_v_ = space.take<Real>(problem.tokens * words);
    rows_k_ = space.take<Real>(o_.right_room(problem.tokens));
    room_q_ = space.take<Real>(problem.block * words), room_o_ = space.take<Real>(problem.block * words);
    right_ = space.take<Real>(o_.right_room(problem.block));
    keys_ = space.take<Real>(round_up(problem.tokens, kPanel<Real>) * words);
    values_ = space.take<Real>(round_up(problem.tokens, kPanel<Real>) * words);
    logits_ = space.take<Real>(tile), gradient_ = space.take<Real>(tile);
    rounded_ = space.take<Real>(o_.tile_room(problem.block));
    p_ = u_.algebra.any() ? space.take<Real>(tile) : logits_;
    hooked_ = u_.hooks.any() ? space.take<Real>(tile) : p_;
    plain_ = kPairs && problem.table_count > 0 ? space.take<Real>(problem.block * u_.wide) : nullptr;
    d_q_ = space.take<Real>(problem.block * u_.wide);
    // The longest range decides for all of them.
    const bool several = (u_.blocks.total + problem.ranges - 1) / problem.ranges > problem.kept_blocks;
    d_k_ = space.take<Real>((several ? problem.group : 1) * all);
    d_v_ = space.take<Real>((several ? problem.group : 1) * all);
    per_sample_ = several ? all : 0;
  }

  void run() {
    const Blocks& blocks = u_.blocks;
    for (std::int64_t kept = blocks.begin; kept < blocks.end; kept += u_.p.kept_blocks) {
      const std::int64_t last = kept + u_.p.kept_blocks < blocks.end ? kept + u_.p.kept_blocks : blocks.end;
      const std::int64_t first = blocks.row(kept), rows = blocks.row(last) - first;
      u_.begin_rows(u_.place, first, rows);
      for (Place at = u_.place; at.b < u_.end; ++at.b) {
        begin_sample(at, kept == blocks.begin);
        for (std::int64_t n = kept; n < last; ++n) block(at, blocks.row(n), blocks.row(n + 1) - blocks.row(n));
        if (last == blocks.end) end_sample(at);
      }
      u_.algebra.end_rows(rows);
      u_.hooks.end_rows();
    }
  }

 private:
  Real* d_k(const Place& at) const { return d_k_ + (at.b - u_.place.b) * per_sample_; }
  Real* d_v(const Place& at) const { return d_v_ + (at.b - u_.place.b) * per_sample_; }

  void begin_sample(const Place& at, bool first) {
    const Problem& p = u_.p;
    const View<Real> k = o_.rows(p.k, at, 0, p.tokens, room_k_);
    k_ = o_.right(p.k, at, 0, p.tokens, k, rows_k_);
    pack_panels<Real>(k, p.tokens, o_.row_words(), keys_);
    pack_panels<Real>(o_.rows(p.v, at, 0, p.tokens, room_v_), p.tokens, o_.row_words(), values_);
    u_.begin_sample(at);
    started_ = !first;
  }

  void end_sample(const Place& at) {
    for (const auto& [from, rows] : {Pair{d_k(at), &u_.p.d_k}, Pair{d_v(at), &u_.p.d_v}}) {
      Rows to = *rows;
      to.data = static_cast<char*>(to.data) + at.range * u_.p.d_range * static_cast<std::int64_t>(sizeof(Real));
      write_rows<Real>(from, nullptr, to, at.b, at.h, 0, u_.p.tokens, u_.p.width);
    }
  }
  struct Pair {
    Real* from;
    const Rows* to;
  };

  void probabilities(const Place& at, std::int64_t first, std::int64_t rows) {
    const RowSum<Real>* kept = u_.kept(at) + first;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Real* content = logits_ + i * u_.row;
      Real* to = p_ + i * u_.row;
      if (u_.algebra.any())
        probability_row<Real, true>(content, u_.p.tokens, u_.algebra.row(first + i), kept[i], to);
      else
        probability_row<Real, false>(content, u_.p.tokens, {}, kept[i], to);
    }
    if (!u_.hooks.any()) return;
    __builtin_memcpy(hooked_, p_, sizeof(Real) * static_cast<std::size_t>(rows * u_.row));
    u_.hooks.begin_block(first, rows);
    u_.hooks.act(hooked_, first, rows);
  }

  // Through the hooks, the softmax and the algebra: the gradient of P becomes that of the content logits.
  void lead_back(const Place& at, std::int64_t first, std::int64_t rows, View<Real> d_out) {
    const Problem& p = u_.p;
    if (plain_ != nullptr) d_out = view_rows<Real>(p.d_out, at.b, at.h, first, rows, p.width, plain_);
    u_.hooks.add_values_back(hooked_, d_out, first, rows, gradient_);
    u_.hooks.act_back(gradient_, first, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t skip = i * u_.row;
      if (u_.algebra.any()) {
        content_gradient_row<Real, true>(p_ + skip, logits_ + skip, p.tokens, u_.algebra.row(first + i),
                                         u_.algebra.gradients(first + i), gradient_ + skip);
      } else {
        content_gradient_row<Real, false>(p_ + skip, nullptr, p.tokens, {}, {}, gradient_ + skip);
      }
    }
    u_.algebra.end_block(rows);
    u_.hooks.end_block();
  }

  void block(const Place& at, std::int64_t first, std::int64_t rows) {
    const Problem& p = u_.p;
    const Real scale = static_cast<Real>(p.scale);
    const std::int64_t panel = kPanel<Real>, row = u_.row, wide = u_.wide, deep = o_.channels(), some = o_.over(rows);
    const View<Real> q = o_.rows(p.q, at, first, rows, room_q_), d_out = o_.rows(p.d_out, at, first, rows, room_o_);
    product<Real, kPairs>(rows, u_.columns, deep, {q.data, q.row}, {keys_, panel, panel * o_.row_words()}, logits_, row,
                          scale, false);
    u_.algebra.begin_block(first, rows);
    probabilities(at, first, rows);
    product<Real, kPairs>(p.tokens, wide, some, o_.by_rows(hooked_, row, rows, rounded_),
                          o_.right(p.d_out, at, first, rows, d_out, right_), d_v(at), wide, Real{1}, started_);
    product<Real, kPairs>(rows, u_.columns, deep, {d_out.data, d_out.row}, {values_, panel, panel * o_.row_words()},
                          gradient_, row, Real{1}, false);
    lead_back(at, first, rows, d_out);
    product<Real, kPairs>(rows, wide, o_.over(p.tokens), o_.by_keys(gradient_, row, rows, rounded_), k_, d_q_, wide,
                          scale, false);
    product<Real, kPairs>(p.tokens, wide, some, o_.by_rows(gradient_, row, rows, rounded_),
                          o_.right(p.q, at, first, rows, q, right_), d_k(at), wide, scale, started_);
    write_rows<Real>(d_q_, nullptr, p.d_q, at.b, at.h, first, rows, p.width);
    started_ = true;
  }

  Unit<Real> u_;
  Operands<Real, kPairs> o_;
  Right<Real> k_{};
  bool started_ = false;
  std::int64_t per_sample_ = 0;
  Real *room_k_, *room_v_, *rows_k_, *room_q_, *room_o_, *right_, *keys_, *values_, *logits_, *gradient_, *rounded_,
      *p_, *hooked_, *plain_, *d_q_, *d_k_, *d_v_;
};

template <typename Way>
std::size_t bytes_of(const Problem& problem) {
  Space counted(nullptr);
  const Way way(problem, 0, counted);
  return counted.used();
}

// While it lives this thread takes numbers below the normal ones for 0. Decay over distance makes whole tiles of such
// probabilities and gradients, which Intel's processors multiply some hundred times as slowly; nothing else is as small.
class FlushedDenormals {
 public:
#if defined(__SSE2__)
  FlushedDenormals() { _mm_setcsr(before_ | 0x8040); }  // of results and of operands
  ~FlushedDenormals() { _mm_setcsr(before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  const unsigned before_ = _mm_getcsr();
#endif
};

template <typename Way>
void run_unit(const Problem& problem, std::int64_t unit, void* bytes) {
  const FlushedDenormals flushed;
  Space space(bytes);
  Way way(problem, unit, space);
  way.run();
}

// By the type of the values: in mixed precision q and k may have been made in float32, and are rounded then.
template <typename Real, template <typename, bool> class Way>
std::size_t bytes_for(const Problem& problem) {
  if constexpr (kPairProducts && sizeof(Real) == 4) {
    if (problem.v.type == Element::kBFloat16) return bytes_of<Way<Real, true>>(problem);
  }
  return bytes_of<Way<Real, false>>(problem);
}

template <typename Real, template <typename, bool> class Way>
void run_for(const Problem& problem, std::int64_t unit, void* bytes) {
  if constexpr (kPairProducts && sizeof(Real) == 4) {
    if (problem.v.type == Element::kBFloat16) return run_unit<Way<Real, true>>(problem, unit, bytes);
  }
  run_unit<Way<Real, false>>(problem, unit, bytes);
}

template <typename Real>
constexpr AttentionKernels kernels_of(const char* name) {
  return {name, &bytes_for<Real, Forward>, &run_for<Real, Forward>, &bytes_for<Real, Backward>,
          &run_for<Real, Backward>};
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET

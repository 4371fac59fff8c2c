// Forms: what a prior's bias or scale term looks like. Execution paths know forms, never priors.
#pragma once

#include "engine/base/torch.h"
#include "engine/layers/pair_index.h"

namespace locus::engine {

// Every form means a tensor that broadcasts over [B, H, T, T] (queries, keys); dense() makes it. B and H may
// be 1.

struct Dense {
  Tensor values;  // [B|1, H|1, T, T]
  Tensor dense() const { return values; }
};

// Inner products of r features, plus a constant for each row: content-gated decays, Manhattan distances,
// parabolas. Features are float32 or better whatever the type of the model: what is left of large products
// that cancel would drown in half precision.
struct LowRank {
  Tensor query, key;  // [B|1, H|1, T, r]
  // [B|1, H|1, T, 1] or undefined. Softmax ignores it, so paths may, in a bias without a factor on the sum: times
  // such a factor it is no constant of its row.
  Tensor row = {};
  Tensor dense() const;
};

// table[b, h, index[i, j]]: functions of the offset of a pair, learned or not.
struct RelativeTable {
  Tensor table;     // [B|1, H|1, R]
  PairIndex index;  // below R
  Tensor dense() const;
};

// A sum of lookups in rows that depend on a token: values[b, h, i, index[i, j]] for the query's row,
// values[b, h, j, index[j, i]] for the key's.
struct Bucketed {
  struct Lookup {
    Tensor values;        // [B|1, H|1, T|1, R]; 1: every token has the same row
    PairIndex index;      // below R
    bool by_key = false;  // the row is the key's
  };
  std::vector<Lookup> lookups;  // at least one
  Tensor dense() const;
};

// -slope[h] * |position_i - position_j|_2. Pairs with a prefix token are 0, unless `positions` has rows for
// the prefix too.
struct DistanceDecay {
  Tensor positions;         // [N, axes], or [T, axes] with prefix rows; a batch in front where samples differ
  Tensor slope;             // [H]
  std::int64_t prefix = 0;  // tokens in front that have no row in `positions`
  Tensor dense() const;
};

// A polynomial of the second degree, one a query, in the offset d = position_j - position_i:
//   sum over axes a <= b of numbers_ab d_a d_b + sum over a of numbers_a d_a
// with the products in the order d_0 d_0, d_0 d_1, .., d_1 d_1, .. before the axes. Pairs with a prefix token are 0,
// unless `positions` and `numbers` have rows for the prefix too. Numbers and positions are float32 or better.
struct Quadratic {
  // What the numbers meet, in their order, of the offsets along each axis.
  static std::vector<Tensor> terms(const std::vector<Tensor>& offset);

  Tensor numbers;           // [B|1, H|1, N, axes (axes + 1) / 2 + axes], or T rows; any strides
  Tensor positions;         // [N, axes], or T rows; a batch in front where samples differ; no gradient
  std::int64_t prefix = 0;  // tokens in front that have no row
  Tensor dense() const;
};

// (gate_i + gate_j) |position_i - position_j|_1, and 0 where a prefix token is involved.
struct Gated {
  Tensor gate;              // [B|1, H|1, N]; any strides
  Tensor positions;         // [N, axes]; a batch in front where samples differ; no gradient
  std::int64_t prefix = 0;  // tokens in front that have no row
  Tensor dense() const;
};

// -|place_i - place_j|, places of its own for each sample and head; 0 where a prefix token is involved. Its slope is 0
// where two places meet. Causal: -infinity where the key comes after the query, both patches; in a bias alone, since a
// factor on it may be 0.
struct Scan {
  Tensor place;             // [B|1, H|1, N]; any strides
  std::int64_t prefix = 0;  // tokens in front that have no row
  bool causal = false;
  Tensor dense() const;
};

// Where each patch comes along each of C curves. Shared by the layers of a model; immutable.
class CurveRanks {
 public:
  // rank: [C, N] int32, each row a permutation of 0..N-1, or of 0..n-1 where a curve fills n patches and is repeated
  // N / n times; `prefix` tokens come in front of the patches.
  // `names` of the curves, C or none, are for people.
  CurveRanks(Tensor rank, std::int64_t prefix, std::vector<std::string> names = {})
      : rank_(std::move(rank)), prefix_(prefix), names_(std::move(names)) {}

  const Tensor& rank() const { return rank_; }
  std::int64_t prefix() const { return prefix_; }
  const std::vector<std::string>& names() const { return names_; }
  std::int64_t tokens() const { return prefix_ + rank_.size(1); }
  // |rank_i - rank_j|, and 0 where a prefix token is involved: [C, 1, T, T]. Made each time it is asked for.
  Tensor distance(at::ScalarType type) const;

 private:
  Tensor rank_;
  std::int64_t prefix_;
  std::vector<std::string> names_;
};

// plus + alpha[h] * mean over curves c of exp(-rate[c, h] * distance[c, i, j]).
struct CurveDecay {
  std::shared_ptr<const CurveRanks> ranks;
  Tensor rate;   // [C, H]: -ln lambda, not negative
  Tensor alpha;  // [H]
  double plus = 0;
  Tensor dense() const;
};

using Form = std::variant<Dense, LowRank, RelativeTable, Bucketed, DistanceDecay, Quadratic, Gated, Scan, CurveDecay>;

std::string_view form_name(const Form& form);  // "curve-decay"
bool requires_grad(const Form& form);          // whether a gradient flows into it

// What a term depends on, and therefore how long its value may be kept: for a layout, until parameters
// change, never.
enum class Depends { kLayout, kParameters, kContent };

// A summand of the bias or a factor of the scale. Not thread-safe.
class BiasTerm {
 public:
  BiasTerm(Depends on, Form form) : on_(on), form_(std::move(form)) {}

  Depends on() const { return on_; }
  const Form& form() const { return form_; }
  const Tensor& dense() const;  // made when first asked for, then kept as long as the term

 private:
  Depends on_;
  Form form_;
  mutable Tensor dense_;
};

}  // namespace locus::engine

// Forms: what a prior's bias or scale term looks like. Execution paths know forms, never priors.
#pragma once

#include "engine/base/torch.h"

namespace locus {

// Every form means a tensor that broadcasts over [B, H, T, T] (queries, keys); dense() makes it. B and H may
// be 1.

struct Dense {
  Tensor values;  // [B|1, H|1, T, T]
  Tensor dense() const { return values; }
};

// Inner products of r features: content-gated decays, Manhattan distances, parabolas.
struct LowRank {
  Tensor query, key;  // [B|1, H|1, T, r]
  Tensor dense() const;
};

// -slope[h] * |position_i - position_j|_2. Pairs with a prefix token are 0, unless `positions` has rows for
// the prefix too.
struct DistanceDecay {
  Tensor positions;         // [N, axes], or [T, axes] with prefix rows
  Tensor slope;             // [H]
  std::int64_t prefix = 0;  // tokens in front that have no row in `positions`
  Tensor dense() const;
};

// Where each patch comes along each of C curves. Shared by the layers of a model; not thread-safe.
class CurveRanks {
 public:
  // rank: [C, N] int32, each row a permutation of 0..N-1; `prefix` tokens come in front of the patches.
  CurveRanks(Tensor rank, std::int64_t prefix) : rank_(std::move(rank)), prefix_(prefix) {}

  const Tensor& rank() const { return rank_; }
  std::int64_t prefix() const { return prefix_; }
  std::int64_t tokens() const { return prefix_ + rank_.size(1); }
  // |rank_i - rank_j|, and 0 where a prefix token is involved: [C, 1, T, T]. Made when first asked for, then
  // kept.
  const Tensor& distance(at::ScalarType type) const;

 private:
  Tensor rank_;
  std::int64_t prefix_;
  mutable Tensor distance_;
};

// alpha[h] * mean over curves c of exp(-rate[c, h] * distance[c, i, j]).
struct CurveDecay {
  std::shared_ptr<const CurveRanks> ranks;
  Tensor rate;   // [C, H]: -ln lambda, not negative
  Tensor alpha;  // [H]
  Tensor dense() const;
};

using Form = std::variant<Dense, LowRank, DistanceDecay, CurveDecay>;

std::string_view form_name(const Form& form);  // "curve-decay"
bool requires_grad(const Form& form);          // whether a gradient flows into it

// What a term depends on, and therefore how long its value may be kept: for a layout, until parameters
// change, never.
enum class Depends { kLayout, kParameters, kContent };

// A summand of the bias or a factor of the scale. Not thread-safe.
class Term {
 public:
  Term(Depends on, Form form) : on_(on), form_(std::move(form)) {}

  Depends on() const { return on_; }
  const Form& form() const { return form_; }
  const Tensor& dense() const;  // made when first asked for, then kept as long as the term

 private:
  Depends on_;
  Form form_;
  mutable Tensor dense_;
};

}  // namespace locus

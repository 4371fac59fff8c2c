// Which entry of a table a pair of tokens reads.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// An entry for every pair, kept as a rule of a number a token where there is one, so that nothing of T x T need exist.
// Copies share what they keep. Not thread-safe.
class PairIndex {
 public:
  // Patches i and j read code_i - code_j + shift, or the entry of `map` there: codes y (2 columns - 1) + x tell every
  // offset apart. Pairs with a prefix token read fixed entries.
  struct Rule {
    Tensor code;             // [N] int32, of the patches
    std::int64_t shift = 0;  // so that no pair of patches is below 0
    Tensor map = {};         // int32 [past the largest code_i - code_j + shift], or undefined
    std::int64_t prefix = 0;
    std::int64_t from_prefix = 0, to_prefix = 0, among_prefix = 0;  // read by (prefix, patch), (patch, prefix), both
  };

  PairIndex(Tensor entries);  // NOLINT(google-explicit-constructor): [T, T] int64, any
  PairIndex(Rule rule);       // NOLINT(google-explicit-constructor)

  std::int64_t tokens() const;
  // Null where the entries were given one by one.
  const Rule* rule() const { return rule_ ? rule_.get() : nullptr; }
  const Tensor& dense() const;  // [T, T] int64; by a rule it is made when first asked for, then kept
  at::Device device() const;
  PairIndex transposed() const;  // pair (i, j) reads what (j, i) reads here

 private:
  std::shared_ptr<const Rule> rule_;
  std::shared_ptr<Tensor> dense_;
};

}  // namespace locus::engine

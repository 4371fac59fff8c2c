// What a head reads of the features of a backbone.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine {

// The options features and feature_blocks of a task:
//   pooled            what the backbone pools of the last block
//   last-blocks       that of each of the last n blocks through the final norm, side by side, the earliest first
//   pooled-and-mean   of each channel the pooled number, then the mean of the patch tokens: [c0, m0, c1, m1, ...]
// The second and third are DINO's linear probes of small and base models (Caron et al. 2021, arXiv:2104.14294, eval_linear.py).
void add_readout_options(Item& item);

// Immutable; thread-compatible. The backbone must outlive it.
class Readout {
 public:
  // Asks the backbone for what it needs. Throws std::invalid_argument where the last stage has fewer blocks.
  Readout(Backbone& backbone, const Options& options);

  std::int64_t width() const;                         // of a row
  Tensor operator()(const Features& features) const;  // [B, width()]

 private:
  const Backbone& backbone_;
  std::vector<std::int64_t> blocks_;  // that are read; empty: the last, as it is pooled
  bool mean_;
};

}  // namespace locus::engine

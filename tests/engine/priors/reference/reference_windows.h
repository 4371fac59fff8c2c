// One attention layer within windows, as scalar loops over its parameters: the formulas of Liu et al. 2021
// (arXiv:2103.14030), place by place, with the numbered regions of its figure 4.
#pragma once

#include "tests/engine/priors/reference/reference_model.h"

namespace locus::engine::test {

struct ReferenceWindows {
  std::vector<std::int64_t> extent, window, shift;  // rows and columns
  bool pad_first = true;                            // the grid is padded before it is shifted
  std::int64_t heads = 1;
};

// x [B, N, D] are the normed tokens; the result is what is added to the stream. `values`: "qkv.weight", "qkv.bias",
// "out.weight" and "out.bias" of the layer, and of each prior "priors.<id>.<name>".
Array reference_windows(const ReferenceWindows& where, const std::vector<ReferenceChoice>& priors, const Values& values,
                        const Array& x, const ReferenceRun& run);

}  // namespace locus::engine::test

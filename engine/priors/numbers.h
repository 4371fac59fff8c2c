// Numbers of each head that a prior lets people look at: decay rates, gates, centers and widths.
#pragma once

#include "engine/priors/prior.h"

namespace locus::engine {

// One kind of them. `values` [rows, H], a name for each row ("hilbert"; one empty name where there is one row).
struct HeadNumbers {
  std::string id, title, help, unit;
  std::vector<std::string> rows;
  Tensor values;
};

// A layer that has such numbers implements this beside PriorLayer. They depend on parameters and, where the
// prior follows content, on the inputs given; those are then means over batch and queries.
class HasHeadNumbers {
 public:
  virtual ~HasHeadNumbers() = default;
  // Call without gradients. AttentionInputs of the whole grid, as hooks get them.
  virtual std::vector<HeadNumbers> head_numbers(const AttentionInputs& inputs) = 0;
};

}  // namespace locus::engine

// Processes that train one model together, as its layers see them.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// Each has its part of a batch; what is of the whole batch they add up. All must ask for the same sums in the same order. Not
// thread-safe.
class Peers {
 public:
  virtual ~Peers() = default;
  // Replaces `tensor`, contiguous and of the same shape and type everywhere, by the sum over all processes: to the same bits on
  // each. Waits for the others; throws what the group throws when one of them is gone.
  virtual void sum(const Tensor& tensor) = 0;
};

}  // namespace locus::engine

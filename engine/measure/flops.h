// Floating-point operations counted from what torch dispatches. (What they should be by the model's
// structure: Task::flops.)
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// Counts, on the thread that made it and as long as it lives, the operations of matrix products, convolutions
// and fused attention, a multiply-add as two, from the shapes of what is dispatched: padding included, values
// that are kept from an earlier pass not. Everything else (norms, softmax, masks, gates) is element-wise and
// counts nothing. One at a time per thread.
class FlopCounter {
 public:
  FlopCounter();
  ~FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  std::int64_t total() const;
  // By operator, those that were dispatched: "aten::addmm".
  const std::map<std::string, std::int64_t>& by_operator() const { return counted_; }
  void add(const std::string& name, std::int64_t operations) { counted_[name] += operations; }

 private:
  std::map<std::string, std::int64_t> counted_;
  std::uint64_t handle_;
};

std::vector<std::string> counted_operators();  // all it knows, sorted

}  // namespace locus::engine

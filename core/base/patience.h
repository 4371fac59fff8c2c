// When what goes step by step is taken for hung: far beyond what its own steps have taken.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/clock.h"

namespace locus {

// Pure. Thread-compatible.
class Patience {
 public:
  // `first`: before a step was made; never less than `least`.
  Patience(Microseconds first, Microseconds least) : first_(std::max(first, least)), least_(least) {}

  void took(Microseconds step) {
    steps_.push_back(step);
    if (steps_.size() > kRemembered) steps_.erase(steps_.begin());
  }
  // Silence beyond this is a hang.
  Microseconds limit() const {
    if (steps_.empty()) return first_;
    std::vector<Microseconds> sorted = steps_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return std::max(least_, kMedians * *middle);
  }

 private:
  static constexpr std::size_t kRemembered = 31;
  static constexpr Microseconds kMedians = 20;

  Microseconds first_, least_;
  std::vector<Microseconds> steps_;
};

}  // namespace locus

// Exponential back-off with full jitter: each wait is drawn evenly from zero to a ceiling that doubles.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace locus {

// Thread-compatible.
class Backoff {
 public:
  Backoff(std::chrono::microseconds first, std::chrono::microseconds most)
      : first_(first), most_(most), ceiling_(first), random_(std::random_device{}()) {}

  std::chrono::microseconds next() {
    std::uniform_int_distribution<std::chrono::microseconds::rep> wait(0, ceiling_.count());
    ceiling_ = std::min(ceiling_ * 2, most_);
    return std::chrono::microseconds(wait(random_));
  }
  void reset() { ceiling_ = first_; }  // after a success

 private:
  std::chrono::microseconds first_, most_, ceiling_;
  std::minstd_rand random_;
};

}  // namespace locus

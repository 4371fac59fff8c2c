// Decides when a silent trainer is taken for hung: far beyond what its own steps have taken.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/clock.h"

namespace locus {

// Pure; times are of one steady clock. Thread-compatible.
class Watchdog {
 public:
  Watchdog(Microseconds start_silence, Microseconds silence, Microseconds now)
      : start_silence_(start_silence), silence_(silence), heard_(now) {}

  void heard(Microseconds now) { heard_ = now; }  // any frame
  void progress(std::int64_t step, Microseconds now) {
    heard_ = now;
    if (step > step_ && step_ >= 0) {
      per_step_.push_back((now - progress_) / (step - step_));
      if (per_step_.size() > kRemembered) per_step_.erase(per_step_.begin());
    }
    if (step != step_) progress_ = now;
    step_ = step;
  }
  // Silence beyond this moment is a hang.
  Microseconds deadline() const {
    if (per_step_.empty()) return heard_ + std::max(start_silence_, silence_);
    std::vector<Microseconds> sorted = per_step_;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    return heard_ + std::max(silence_, kMedians * sorted[sorted.size() / 2]);
  }

 private:
  static constexpr std::size_t kRemembered = 31;
  static constexpr Microseconds kMedians = 20;

  const Microseconds start_silence_, silence_;
  Microseconds heard_, progress_ = 0;
  std::int64_t step_ = -1;
  std::vector<Microseconds> per_step_;
};

}  // namespace locus

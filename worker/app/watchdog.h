// Decides when a silent trainer is taken for hung.
#pragma once

#include "core/base/patience.h"

namespace locus {

// Pure; times are of one steady clock. Thread-compatible.
class Watchdog {
 public:
  Watchdog(Microseconds start_silence, Microseconds silence, Microseconds now)
      : patience_(start_silence, silence), heard_(now) {}

  void heard(Microseconds now) { heard_ = now; }  // any frame
  void progress(std::int64_t step, Microseconds now) {
    heard_ = now;
    if (step > step_ && step_ >= 0) patience_.took((now - progress_) / (step - step_));
    if (step != step_) progress_ = now;
    step_ = step;
  }
  // Silence beyond this moment is a hang.
  Microseconds deadline() const { return heard_ + patience_.limit(); }

 private:
  Patience patience_;
  Microseconds heard_, progress_ = 0;
  std::int64_t step_ = -1;
};

}  // namespace locus

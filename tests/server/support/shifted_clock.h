// The machine's clock, ahead by as much as a test says.
#pragma once

#include <atomic>

#include "core/base/clock.h"

namespace locus::test {

class ShiftedClock final : public Clock {
 public:
  Microseconds wall() const override { return system_clock().wall() + ahead; }
  Microseconds steady() const override { return system_clock().steady(); }
  std::atomic<Microseconds> ahead{0};  // of the wall clock
};

}  // namespace locus::test

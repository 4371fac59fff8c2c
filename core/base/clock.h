// Time is given, never taken: every part that needs time holds a Clock.
#pragma once

#include <cstdint>

namespace locus {

using Microseconds = std::int64_t;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Microseconds wall() const = 0;    // since the Unix epoch; for people and records, never decides a lease
  virtual Microseconds steady() const = 0;  // monotonic; meaningful within one process only
};

Clock& system_clock();  // lives for the whole process

}  // namespace locus

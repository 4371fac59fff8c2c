// The machine's clocks behind the Clock interface.
#include "core/base/clock.h"

#include <chrono>

namespace locus {
namespace {

class SystemClock final : public Clock {
 public:
  Microseconds wall() const override { return count(std::chrono::system_clock::now().time_since_epoch()); }
  Microseconds steady() const override { return count(std::chrono::steady_clock::now().time_since_epoch()); }

 private:
  template <class Duration>
  static Microseconds count(Duration since) {
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace locus

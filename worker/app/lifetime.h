// When a daemon ends by itself: nobody has had work for it for long, or its time is over.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "core/base/clock.h"

namespace locus {

// What a daemon knows of its end when it starts.
struct LifetimeRules {
  Microseconds idle = 0;               // so long without work; 0: it may wait for ever
  std::optional<Microseconds> length;  // of its whole life
};

// The shorter of `lifetime` (0: none) and what a batch system leaves: `job_end` is the text of its variable, seconds since the
// epoch, null or unreadable where there is none. Of that `drain` is kept, and half of it where it is too short.
std::optional<Microseconds> length_of_life(Microseconds lifetime, const char* job_end, Microseconds wall,
                                           Microseconds drain);

// Thread-safe. Its life begins when it is made. `clock` must outlive it.
class Lifetime {
 public:
  Lifetime(const Clock& clock, LifetimeRules rules)
      : clock_(clock), rules_(rules), born_(clock.steady()), worked_(born_) {}

  void note_work() { worked_ = clock_.steady(); }  // it has some, or was just given some
  // Why it should drain now; empty: it should not.
  std::string over() const;
  // After which over() may answer otherwise, if nothing is noted; nothing: never.
  std::optional<Microseconds> next_look() const;
  int poll_timeout() const;  // the same as poll() counts: milliseconds, a day at most; -1: never

  // Until its time is over, 0 at least; nothing: it stays.
  std::optional<Microseconds> left() const;
  Microseconds length() const { return rules_.length.value_or(0); }

 private:
  const Clock& clock_;
  const LifetimeRules rules_;
  const Microseconds born_;
  std::atomic<Microseconds> worked_;  // when it last had work
};

}  // namespace locus

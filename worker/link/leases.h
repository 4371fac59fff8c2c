// The lease book shared by the link's threads, with waiting.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/base/clock.h"
#include "worker/link/lease_book.h"

namespace locus {

// Thread-safe.
class Leases {
 public:
  Leases(LeasePolicy policy, Clock& clock) : clock_(clock), book_(policy) {}

  Microseconds now() const { return clock_.steady(); }

  // Runs `use(book)` alone and wakes everyone who waits.
  template <class Use>
  auto with(Use&& use) {
    std::lock_guard lock(mutex_);
    struct Wake {
      std::condition_variable& changed;
      ~Wake() { changed.notify_all(); }
    } wake{changed_};
    return std::forward<Use>(use)(book_);
  }

  // Blocks while the attempt is run but fenced. True: commit now. False: it is run no longer, or the daemon
  // ends.
  bool wait_may_commit(LeaseBook::Key key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !book_.runs(key) || book_.may_commit(key, now()); });
    return !closed_ && book_.runs(key);
  }

  // Blocks until the book wants something done (orders, a heartbeat, a registration) or `until`; false when
  // the daemon ends.
  bool wait_for_duty(Microseconds until) {
    std::unique_lock lock(mutex_);
    while (!closed_) {
      const Microseconds wake = std::min(until, book_.next_wake());
      if (now() >= wake) return true;
      changed_.wait_for(lock, std::chrono::microseconds(wake - now()));
    }
    return false;
  }

  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  LeaseBook book_;
  bool closed_ = false;
};

}  // namespace locus

// Takes away what deleted experiments leave, piece by piece.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/ports/store.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/maintenance.h"

namespace locus::server {

// Thread-safe. A thread of its own asks the scheduler's strand for one small piece after the other, so that everybody
// else's writes come in between, and removes the blobs of each. What a former process left is taken up at once.
// Everything given must outlive it.
class Purger {
 public:
  Purger(Store& store, Coordinator& coordinator, Maintenance& maintenance);
  ~Purger();

  // An experiment was deleted. Waits until nothing is left, or for so long; returns whether nothing is.
  bool purge(std::chrono::milliseconds most);
  bool busy() const;  // something may be left
  // Ends after the piece under way. Idempotent; before the coordinator is stopped.
  void stop();

 private:
  void serve();
  absl::StatusOr<bool> one_piece();  // false: nothing was left

  Store& store_;
  Coordinator& coordinator_;
  Maintenance& maintenance_;
  mutable std::mutex mutex_;
  std::condition_variable woken_, rested_;
  std::int64_t asked_ = 1, served_ = 0;  // how often; served up to which of them
  bool stopping_ = false;
  std::thread thread_;  // last: everything else exists when it starts
};

}  // namespace locus::server

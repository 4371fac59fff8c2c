// The few threads that may block on the store: reads, submissions, blob I/O. Never the scheduler, never a
// transport's loop.
#pragma once

#include <atomic>
#include <memory>

#include "absl/functional/any_invocable.h"

namespace boost::asio {
class thread_pool;
}

namespace locus::server {

// Thread-safe. Tasks must not throw; one that is taken runs once, on a thread of the pool.
class WorkPool {
 public:
  using Task = absl::AnyInvocable<void()>;

  WorkPool(int threads, int most_waiting);
  ~WorkPool();  // joins

  // False, and the task is not taken, when too many wait already: answer RESOURCE_EXHAUSTED.
  bool try_post(Task task);
  // For the next step of work already admitted.
  void post(Task task);
  void join();  // runs what is queued, then ends the threads

 private:
  const std::unique_ptr<boost::asio::thread_pool> pool_;
  const int most_waiting_;
  std::atomic<int> waiting_{0};
};

}  // namespace locus::server

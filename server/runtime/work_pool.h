// The few threads that may block on the store: reads, submissions, blob I/O. Never the scheduler, never a
// transport's loop.
#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace locus::server {

// Thread-safe. Tasks must not throw.
class WorkPool {
 public:
  WorkPool(int threads, int most_waiting) : pool_(threads), most_waiting_(most_waiting) {}
  ~WorkPool() { join(); }

  // False, and the task is not taken, when too many wait already: answer RESOURCE_EXHAUSTED.
  template <class Task>
  bool try_post(Task task) {
    if (waiting_.load() >= most_waiting_) return false;
    post(std::move(task));
    return true;
  }
  // For the next step of work already admitted.
  template <class Task>
  void post(Task task) {
    ++waiting_;
    boost::asio::post(pool_, [this, task = std::move(task)]() mutable {
      --waiting_;
      task();
    });
  }
  void join() { pool_.join(); }  // runs what is queued, then ends the threads

 private:
  boost::asio::thread_pool pool_;
  const int most_waiting_;
  std::atomic<int> waiting_{0};
};

}  // namespace locus::server

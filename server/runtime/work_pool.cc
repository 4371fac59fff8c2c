// Threads for work that may block.
#include "server/runtime/work_pool.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace locus::server {

WorkPool::WorkPool(int threads, int most_waiting)
    : pool_(std::make_unique<boost::asio::thread_pool>(threads)), most_waiting_(most_waiting) {}

WorkPool::~WorkPool() { join(); }

bool WorkPool::try_post(Task task) {
  if (waiting_.load() >= most_waiting_) return false;
  post(std::move(task));
  return true;
}

void WorkPool::post(Task task) {
  ++waiting_;
  boost::asio::post(*pool_, [this, task = std::move(task)]() mutable {
    --waiting_;
    task();
  });
}

void WorkPool::join() { pool_->join(); }

}  // namespace locus::server

// Independent pieces of one answer side by side.
#include "server/runtime/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace locus::server {
namespace {

constexpr std::size_t kThreadsMost = 4, kWorthAThread = 8;  // fewer tasks are done before a thread has begun

}  // namespace

absl::Status for_each_in_parallel(std::size_t count, const std::function<absl::Status(std::size_t)>& task) {
  std::vector<absl::Status> ended(count);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !failed; i = next++) {
      ended[i] = task(i);
      if (!ended[i].ok()) failed = true;
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t threads = std::min({kThreadsMost, cores, count / kWorthAThread + 1});
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  const auto first = std::find_if(ended.begin(), ended.end(), [](const absl::Status& one) { return !one.ok(); });
  return first == ended.end() ? absl::OkStatus() : *first;
}

}  // namespace locus::server

// Loops over parts of a tensor are divided among threads: a template of torch's headers sees to that, or does not.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

namespace locus::engine {
namespace {

std::size_t threads_of_a_loop(int told) {
  const int before = at::get_num_threads();
  at::set_num_threads(told);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  at::parallel_for(0, 64, 1, [&](std::int64_t, std::int64_t) {
    const std::scoped_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  at::set_num_threads(before);
  return seen.size();
}

TEST(Threads, OfALoopOfOursAreAsManyAsTorchWasTold) {
  EXPECT_EQ(threads_of_a_loop(1), 1U);
  EXPECT_EQ(threads_of_a_loop(2), 2U);
  EXPECT_EQ(threads_of_a_loop(3), 3U);
}

}  // namespace
}  // namespace locus::engine

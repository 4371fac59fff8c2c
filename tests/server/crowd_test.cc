// Many workers that find the server in the same moment, as after it was away.
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "tests/server/support/fake_worker.h"

namespace locus::test {
namespace {

TEST_F(ServerTest, ManyWorkersThatRegisterAtOnceAreAllTakenAndNobodyLosesWhatItRuns) {
  constexpr int kThreads = 20, kEach = 10;
  start();
  submit(small_specification());
  FakeWorker holder(channel_, "holder");
  ASSERT_TRUE(holder.register_with().ok());
  const auto work = holder.acquire();
  ASSERT_TRUE(work.has_value());
  std::vector<std::future<int>> registered;
  for (int t = 0; t < kThreads; ++t) {
    registered.push_back(std::async(std::launch::async, [this, t] {
      int taken = 0;
      for (int i = 0; i < kEach; ++i) {
        FakeWorker worker(channel_, "worker-" + std::to_string(t * kEach + i));
        taken += worker.register_with().ok() ? 1 : 0;
      }
      return taken;
    }));
  }
  int taken = 0;
  for (auto& one : registered) taken += one.get();
  EXPECT_EQ(taken, kThreads * kEach);

  v1::ReportPointsResponse stored = holder.report(*work, "loss", "train", {1.0, 0.5});
  EXPECT_EQ(stored.acked_seq(), 2) << "the attempt is still its own";
  v1::ListWorkersResponse all;
  ASSERT_TRUE(workers_->ListWorkers(deadline().get(), {}, &all).ok());
  EXPECT_EQ(all.workers_size(), kThreads * kEach + 1);
}

}  // namespace
}  // namespace locus::test

// What stages took of a device's memory on one worker is told to others with their grants.
#include <set>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double some_score(const std::string&, std::int64_t, int) { return 80.0; }

class MemoryOfTheLike : public ServerTest {
 protected:
  void SetUp() override { start(); }
};

TEST_F(MemoryOfTheLike, IsToldToAWorkerThatHasNotSeenIt) {
  submit(small_specification({{"matrix", {{"prior", {"learned-absolute", "violin"}}}}}));
  FakeWorker first(channel_, "first"), second(channel_, "second"), gpu(channel_, "gpu");
  ASSERT_TRUE(first.register_with().ok());
  ASSERT_TRUE(second.register_with().ok());
  const auto on_gpu = [](v1::RegisterWorkerRequest& request) { request.mutable_slots(0)->set_device("cuda"); };
  ASSERT_TRUE(gpu.register_with(on_gpu).ok());
  const auto next_training = [](FakeWorker& worker) {
    auto work = worker.acquire();
    for (; work && work->grant.kind() != "train"; work = worker.acquire()) worker.run(*work, some_score);
    return work;
  };
  const auto known = first.acquire();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->grant.memory_bytes(), 0);
  first.peak_memory_bytes = 5000;
  first.run(*known, some_score);
  const auto elsewhere = next_training(gpu);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->prior, known->prior);
  EXPECT_EQ(elsewhere->grant.memory_bytes(), 0) << "of another kind of device";
  std::set<std::int64_t> told;
  while (const auto work = next_training(second)) {
    EXPECT_EQ(work->grant.memory_bytes(), work->prior == known->prior ? 5000 : 0) << work->prior;
    told.insert(work->grant.memory_bytes());
    second.run(*work, some_score);
  }
  EXPECT_EQ(told.size(), 2u);
}

TEST_F(MemoryOfTheLike, GivesWayToWhatTheSpecificationSaysOfATraining) {
  Json specification = small_specification();
  submit(specification);
  FakeWorker worker(channel_, "first");
  ASSERT_TRUE(worker.register_with().ok());
  worker.peak_memory_bytes = 5000;
  while (const auto work = worker.acquire()) worker.run(*work, some_score);
  specification["name"] = "said";
  specification["placement"] = {{"memory_gib", 0.5}};
  specification["replicates"] = {{"seed", {77}}};
  submit(specification);
  std::set<std::string> given, estimated;
  while (const auto work = worker.acquire()) {
    (work->grant.memory_given() ? given : estimated).insert(work->grant.kind());
    EXPECT_EQ(work->grant.memory_bytes(), work->grant.memory_given() ? std::int64_t{1} << 29 : 5000);
    worker.run(*work, some_score);
  }
  EXPECT_EQ(given, std::set<std::string>{"train"});
  EXPECT_FALSE(estimated.empty());
}

}  // namespace
}  // namespace locus::test

// Several stages on one GPU: whose fault is whose, and when a slot rests.
#include "worker/app/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Microseconds kOneSecond = 1'000'000;
const Microseconds kRest = PackingPolicy().rest_first;

v1::CompleteAttemptRequest failed(const std::string& failure_class, const std::string& reason) {
  v1::CompleteAttemptRequest outcome;
  outcome.set_outcome("failed");
  outcome.set_failure_class(failure_class);
  outcome.set_reason(reason);
  return outcome;
}

// Slots 0 and 1 are of GPU 0, 2 and 3 of GPU 1.
class PackingTest : public testing::Test {
 protected:
  std::string after(int slot, const std::string& failure_class, const std::string& reason, Microseconds now) {
    auto outcome = failed(failure_class, reason);
    const bool changed = packing_.judge(slot, outcome, now);
    EXPECT_EQ(changed, outcome.reason() != reason);
    reason_ = outcome.reason();
    return outcome.failure_class();
  }
  std::string out_of_memory(int slot, Microseconds now) {
    return after(slot, "out-of-memory", "tried to allocate 2 GiB", now);
  }

  Packing packing_{{0, 0, 1, 1}};
  std::string reason_;
};

TEST_F(PackingTest, MemoryThatANeighborHeldCountsAsNoFailureAndASlotRests) {
  packing_.begun(0);
  packing_.begun(1);
  EXPECT_EQ(out_of_memory(1, kOneSecond), "preempted");
  EXPECT_THAT(reason_, HasSubstr("GPU 0 was short beside another stage: tried to allocate 2 GiB"));
  EXPECT_TRUE(packing_.withdrawn(1));
  EXPECT_FALSE(packing_.withdrawn(0));
}

TEST_F(PackingTest, MemoryThatLacksWithoutANeighborIsTheStagesOwnFailure) {
  packing_.begun(0);
  packing_.begun(2);  // another GPU
  EXPECT_EQ(out_of_memory(0, kOneSecond), "out-of-memory");
  EXPECT_FALSE(packing_.withdrawn(0));
}

TEST_F(PackingTest, OneShortageOfMemoryTakesOneSlot) {
  packing_.begun(0);
  packing_.begun(1);
  EXPECT_EQ(out_of_memory(0, kOneSecond), "preempted");
  packing_.ended(0);
  EXPECT_EQ(out_of_memory(1, kOneSecond + kOneSecond / 2), "preempted") << "the first was still there";
  EXPECT_FALSE(packing_.withdrawn(1));
  EXPECT_EQ(out_of_memory(1, 10 * kOneSecond), "out-of-memory") << "it had the GPU to itself";
}

TEST_F(PackingTest, ASlotComesBackAfterItsRestWhichGrows) {
  packing_.begun(0);
  packing_.begun(1);
  out_of_memory(1, kOneSecond);
  EXPECT_THAT(packing_.come_back(kOneSecond + kRest), IsEmpty()) << "its attempt has not ended";
  packing_.ended(1);
  EXPECT_THAT(packing_.come_back(kOneSecond + kRest - 1), IsEmpty());
  EXPECT_THAT(packing_.come_back(kOneSecond + kRest), ElementsAre(1));
  EXPECT_THAT(packing_.come_back(kOneSecond + kRest), IsEmpty()) << "once";
  EXPECT_FALSE(packing_.withdrawn(1));
  const Microseconds again = 2 * kRest;
  packing_.begun(1);
  out_of_memory(1, again);
  packing_.ended(1);
  EXPECT_THAT(packing_.come_back(again + 2 * kRest - 1), IsEmpty());
  EXPECT_THAT(packing_.come_back(again + 2 * kRest), ElementsAre(1));
}

TEST_F(PackingTest, FaultsOfAGpuWithinASecondAreOneEvent) {
  const std::string fault = "CUDA error: an illegal memory access was encountered";
  for (int slot = 0; slot < 4; ++slot) packing_.begun(slot);
  EXPECT_EQ(after(0, "code", fault, kOneSecond), "code");
  EXPECT_EQ(after(1, "code", fault, kOneSecond + kOneSecond / 2), "preempted");
  EXPECT_EQ(after(2, "code", fault, kOneSecond + kOneSecond / 2), "code") << "of another GPU";
  EXPECT_EQ(after(1, "code", fault, 10 * kOneSecond), "code") << "later";
  EXPECT_FALSE(packing_.withdrawn(0) || packing_.withdrawn(1));
}

TEST_F(PackingTest, LeavesOtherEndsAsTheyAre) {
  for (int slot = 0; slot < 4; ++slot) packing_.begun(slot);
  EXPECT_EQ(after(0, "diverged", "the loss is NaN", kOneSecond), "diverged");
  v1::CompleteAttemptRequest fine;
  fine.set_outcome("succeeded");
  EXPECT_FALSE(packing_.judge(0, fine, kOneSecond));
  Packing cpu({-1, -1});
  cpu.begun(0);
  cpu.begun(1);
  auto outcome = failed("out-of-memory", "the process could not allocate memory");
  EXPECT_FALSE(cpu.judge(0, outcome, kOneSecond));
}

TEST(MpsDirectory, IsWhereItsControlPipeIs) {
  TemporaryFolder folder;
  const std::string path = (folder / "mps").string();
  std::filesystem::create_directories(path);
  EXPECT_EQ(mps_directory("", path), "") << "no daemon has it";
  std::ofstream(path + "/control").close();
  EXPECT_EQ(mps_directory("", path), path);
  std::ofstream(path + "/nvidia-cuda-mps-control.pid") << 1;
  EXPECT_EQ(mps_directory("", path), path);
  std::ofstream(path + "/nvidia-cuda-mps-control.pid") << "999999999";  // more than a kernel counts to
  EXPECT_EQ(mps_directory("", path), "") << "it was killed";
  std::filesystem::remove(path + "/nvidia-cuda-mps-control.pid");
  EXPECT_EQ(mps_directory(path, "/nowhere"), path);
  EXPECT_EQ(mps_directory("/nowhere", path), "") << "named, and not there";
}

}  // namespace
}  // namespace locus

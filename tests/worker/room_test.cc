// Who begins on a device when: by what stages take of its memory, and what is known of that.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>

#include "core/experiment/memory_load.h"
#include "tests/client/temporary_folder.h"
#include "worker/app/load_memory.h"
#include "worker/app/packing.h"

namespace locus {
namespace {

bool never() { return false; }

// Three slots of device 0, which has 100 bytes.
class RoomTest : public testing::Test {
 protected:
  static PackingPolicy policy() {
    PackingPolicy out;
    out.memory[0] = 100;
    out.context = 5;
    out.unknown = 60;
    return out;
  }
  bool begins(int slot, std::int64_t bytes) { return packing_.begin_when_there_is_room(slot, bytes, never); }
  // In a thread of its own, once that waits.
  std::future<bool> waits(int slot, std::int64_t bytes, const std::function<bool()>& gives_up = never) {
    std::promise<void> asked;
    std::future<void> begun = asked.get_future();
    auto out = std::async(std::launch::async, [this, slot, bytes, gives_up, &asked] {
      bool first = true;
      return packing_.begin_when_there_is_room(slot, bytes, [&] {
        if (std::exchange(first, false)) asked.set_value();
        return gives_up();
      });
    });
    begun.wait();
    EXPECT_FALSE(packing_.room(slot, bytes));  // asks under the lock that the thread gives up when it waits
    return out;
  }

  Packing packing_{{0, 0, 0, -1}, policy()};
};

TEST_F(RoomTest, IsThereForWhatFitsBesideTheOthersWithTheirContexts) {
  EXPECT_TRUE(begins(0, 40));
  EXPECT_TRUE(packing_.room(1, 50));
  EXPECT_FALSE(packing_.room(1, 51));
  EXPECT_TRUE(packing_.room(3, 1000)) << "shares nothing";
}

TEST_F(RoomTest, IsAlwaysThereForOneAlone) {
  EXPECT_TRUE(begins(0, 1000));
  EXPECT_FALSE(packing_.room(1, 1));
}

TEST_F(RoomTest, TakesWhatIsNotKnownForALargeStage) {
  EXPECT_TRUE(begins(0, 0));
  EXPECT_FALSE(packing_.room(1, 31));
  EXPECT_TRUE(packing_.room(1, 30));
}

TEST_F(RoomTest, ComesWhenAnotherEnds) {
  EXPECT_TRUE(begins(0, 80));
  auto second = waits(1, 80);
  packing_.ended(0);
  EXPECT_TRUE(second.get());
}

TEST_F(RoomTest, IsGivenInTheOrderOfAsking) {
  EXPECT_TRUE(begins(0, 80));
  auto large = waits(1, kWholeDevice);
  auto small = waits(2, 20);
  packing_.ended(0);
  EXPECT_TRUE(large.get());
  EXPECT_FALSE(packing_.room(2, 20)) << "nothing runs beside what must be alone";
  packing_.ended(1);
  EXPECT_TRUE(small.get());
}

TEST_F(RoomTest, IsWaitedForUntilOneGivesUp) {
  EXPECT_TRUE(begins(0, 80));
  std::atomic<bool> told = false;
  auto second = waits(1, 80, [&] { return told.load(); });
  told = true;
  packing_.look_again();
  EXPECT_FALSE(second.get());
  EXPECT_TRUE(packing_.room(2, 10)) << "it left the queue";
}

TEST_F(RoomTest, SaysHowMuchIsLackingWhileItIsWaitedFor) {
  EXPECT_TRUE(begins(0, 70));
  std::vector<MemoryRoom> said;
  bool over = false;
  const auto gives_up = [&] { return std::exchange(over, true); };
  std::future<void> wakes;
  const auto waits = [&](const MemoryRoom& room) {
    said.push_back(room);
    wakes = std::async(std::launch::async, [this] { packing_.look_again(); });
  };
  EXPECT_FALSE(packing_.begin_when_there_is_room(1, 40, gives_up, waits));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].asked, 45);
  EXPECT_EQ(said[0].used, 75);
  EXPECT_EQ(said[0].whole, 100);
  EXPECT_EQ(said[0].before, 0);
}

TEST(MemoryRoom, IsSaidInGiB) {
  constexpr std::int64_t kGiB = 1 << 30;
  EXPECT_EQ(room_text({.asked = kGiB * 25 / 2, .used = 77 * kGiB, .whole = 80 * kGiB}),
            "12.5 GiB asked, 3 GiB of 80 GiB free, 77 GiB used");
  EXPECT_EQ(room_text({.asked = kWholeDevice, .used = kGiB, .whole = 2 * kGiB, .before = 1}),
            "the whole device asked, 1 GiB of 2 GiB free, 1 GiB used; 1 came before it");
  EXPECT_EQ(room_text({.asked = kGiB}), "1 GiB asked, and others run there");
}

TEST(WholeDevice, IsAloneWhereNobodyCountsAsWell) {
  Packing packing({0, 0});
  packing.begun(0, 10);
  EXPECT_TRUE(packing.room(1, 1'000'000));
  EXPECT_FALSE(packing.room(1, kWholeDevice));
  packing.ended(0);
  packing.begun(1, kWholeDevice);
  EXPECT_FALSE(packing.room(0, 1));
}

Json training(std::int64_t batch, std::int64_t seed = 0, double rate = 0.1) {
  return {{"kind", "train"},
          {"dataset", {{"id", "d"}}},
          {"model", {{"id", "vit"}}},
          {"recipe", {{"options", {{"batch", batch}, {"lr", rate}}}}},
          {"seed", seed}};
}

TEST(Loads, AreEqualWhateverDecidesNoMemory) {
  EXPECT_EQ(memory_load_of(training(8, 0)), memory_load_of(training(8, 1, 0.2)));
  EXPECT_NE(memory_load_of(training(8)), memory_load_of(training(9)));
  Json other = training(8);
  other["model"]["options"]["dim"] = 64;
  EXPECT_NE(memory_load_of(training(8)), memory_load_of(other));
}

class LoadMemoryTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  LoadMemory loads_{folder_ / "loads"};
};

TEST_F(LoadMemoryTest, KnowsTheMostThatAStageTook) {
  EXPECT_EQ(loads_.needed(memory_load_of(training(8))), 0);
  loads_.learn(training(8), {{"peak_memory_bytes", 70}});
  loads_.learn(training(8, 3), {{"peak_memory_bytes", 50}});
  loads_.learn(training(8), Json::object());
  EXPECT_EQ(loads_.needed(memory_load_of(training(8, 9))), 70);
}

TEST_F(LoadMemoryTest, HearsWhatOthersFoundOut) {
  loads_.hear(memory_load_of(training(8)), 90);
  loads_.hear(memory_load_of(training(9)), 0);
  EXPECT_EQ(loads_.needed(memory_load_of(training(8))), 90);
  EXPECT_EQ(loads_.needed(memory_load_of(training(9))), 0);
  loads_.learn(training(8), {{"peak_memory_bytes", 70}});
  EXPECT_EQ(loads_.needed(memory_load_of(training(8))), 90) << "the most of what is known";
}

TEST_F(LoadMemoryTest, LearnsOfTrainingsFromMeasurements) {
  Json measurement = training(0);
  measurement["kind"] = "measure";
  measurement.erase("recipe");
  const auto row = [](const char* metric, std::int64_t batch, double value) {
    return Json{{"metric", metric}, {"labels", {{"batch", batch}}}, {"value", value}};
  };
  loads_.learn(
      measurement,
      {{"results", {row("peak_memory_bytes", 8, 80), row("peak_memory_bytes", 16, 150), row("flops", 8, 1e9)}}});
  EXPECT_EQ(loads_.needed(memory_load_of(training(8))), 80);
  EXPECT_EQ(loads_.needed(memory_load_of(training(16))), 150);
}

TEST_F(LoadMemoryTest, IsKeptForLaterDaemons) {
  loads_.learn(training(8), {{"peak_memory_bytes", 70}});
  loads_.must_be_alone(memory_load_of(training(8)));
  EXPECT_EQ(loads_.needed(memory_load_of(training(8))), kWholeDevice);
  EXPECT_EQ(LoadMemory(folder_ / "loads").needed(memory_load_of(training(8))), 70) << "who was beside it is gone";
  std::ofstream(folder_ / "damaged") << "{";
  EXPECT_EQ(LoadMemory(folder_ / "damaged").needed(memory_load_of(training(8))), 0);
}

}  // namespace
}  // namespace locus

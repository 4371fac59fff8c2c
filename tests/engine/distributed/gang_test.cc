// Exchanges between processes: sums, agreement, and what those see who lose another one.
#include <gmock/gmock.h>

#include "engine/base/stage_aborted.h"
#include "engine/distributed/store.h"
#include "tests/engine/distributed/ranks.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

// What becomes of joining and one exchange: empty, or why it failed.
std::string attempt_to_meet(const GangPlace& place) {
  try {
    const std::unique_ptr<Gang> gang = join_gang(place, at::kCPU);
    gang->sum(at::ones({1}));
  } catch (const PeerLostError& error) {
    return error.what();
  }
  return "";
}

TEST(Gangs, AddUpToTheSameBitsOnAllRanks) {
  std::vector<Tensor> sums(3);
  as_ranks(3, [&](Gang& gang) {
    const Tensor own = at::arange(1000, at::kFloat).add(gang.rank()).reciprocal_();
    if (gang.rank() == 0) own[0] = 0;
    gang.sum(own);
    sums[static_cast<std::size_t>(gang.rank())] = own;
  });
  const Tensor x = at::arange(1000, at::kDouble);
  const Tensor first = x.reciprocal();
  first[0] = 0;
  EXPECT_TRUE(at::allclose(sums[0].to(at::kDouble), first + (x + 1).reciprocal() + (x + 2).reciprocal(), 1e-6));
  EXPECT_TRUE(sums[0].equal(sums[1]));
  EXPECT_TRUE(sums[0].equal(sums[2]));
}

TEST(Gangs, HaveSeveralExchangesUnderWayAtOnce) {
  as_ranks(2, [](Gang& gang) {
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<Gang::Pending>> pending;
    for (int i = 0; i < 8; ++i) {
      tensors.push_back(at::full({1000}, i + 10 * gang.rank(), at::kDouble));
      pending.push_back(gang.begin_sum(tensors.back()));
    }
    for (int i = 0; i < 8; ++i) {
      pending[static_cast<std::size_t>(i)]->wait();
      EXPECT_TRUE(tensors[static_cast<std::size_t>(i)].eq(2 * i + 10).all().item<bool>()) << i;
    }
  });
}

TEST(Gangs, FollowTheirLeader) {
  as_ranks(3, [](Gang& gang) {
    EXPECT_EQ(gang.of_leader(gang.leads() ? -(std::int64_t{1} << 60) : 5), -(std::int64_t{1} << 60));
  });
}

TEST(Gangs, LoseARankThatGoes) {
  std::string seen;
  as_ranks(2, [&](Gang& gang) {
    gang.of_leader(1);
    if (!gang.leads()) return;
    try {
      while (true) gang.sum(at::ones({1}));
    } catch (const PeerLostError& error) {
      seen = error.what();
    }
  });
  EXPECT_THAT(seen, HasSubstr("rank 0 of 2 lost another one"));
}

TEST(Gangs, LoseARankThatIsSilentForLongerThanTheTimeOut) {
  MeetingPlace meeting;
  std::string seen;
  std::mutex mutex;
  std::condition_variable changed;
  bool given_up = false;
  std::thread silent([&] {
    const auto gang = join_gang(meeting.place(1, 2, 1), at::kCPU);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return given_up; });
  });
  seen = attempt_to_meet(meeting.place(0, 2, 1));
  {
    const std::lock_guard lock(mutex);
    given_up = true;
  }
  changed.notify_all();
  silent.join();
  EXPECT_THAT(seen, HasSubstr("waited for longer than 1 s"));
}

TEST(Gangs, NeverHoldARankOfAnOlderAttempt) {
  MeetingPlace meeting;
  std::string older, newer;
  std::thread left_over([&] { older = attempt_to_meet(meeting.place(1, 2, 1, "1/0")); });
  newer = attempt_to_meet(meeting.place(0, 2, 1));
  left_over.join();
  EXPECT_THAT(older, HasSubstr("refused: this is attempt 1/1, and 1/0 is over"));
  EXPECT_THAT(newer, HasSubstr("rank 0 of 2"));
}

TEST(Gangs, PassOnThatTheDaemonWantsTheEnd) {
  struct Ended final : Rendezvous {
    Json ask(Json, std::chrono::milliseconds) override { throw StageAborted("the daemon asked for the end"); }
  } ended;
  EXPECT_THROW(join_gang({0, 2, &ended, 1}, at::kCPU), StageAborted);
}

TEST(LocusStore, IsAStoreAsC10dWantsIt) {
  MeetingPlace meeting;
  LocusStore store(meeting.way(), "a/", std::chrono::seconds(60)), other(meeting.way(), "b/", std::chrono::seconds(60));
  const std::vector<std::uint8_t> bytes = {0, 255, 10};
  std::thread later([&] { store.clone()->set("key", bytes); });
  const auto second = LocusStore(meeting.way(), "a/", std::chrono::seconds(60)).get("key");
  later.join();
  EXPECT_EQ(second, bytes) << "whoever comes first waits";
  EXPECT_TRUE(store.check({"key"}));
  EXPECT_FALSE(store.check({"key", "none"}));
  EXPECT_FALSE(other.check({"key"})) << "of another prefix";
  EXPECT_EQ(store.add("count", 5), 5);
  EXPECT_EQ(store.add("count", -7), -2);
  EXPECT_EQ(store.get_to_str("count"), "-2");
  EXPECT_EQ(store.getNumKeys(), 2);
  EXPECT_TRUE(store.deleteKey("key"));
  EXPECT_FALSE(store.deleteKey("key"));
  EXPECT_THROW(store.wait({"key"}, std::chrono::milliseconds(1)), std::runtime_error);
}

TEST(Gangs, RefusePlacesAndDevicesThatAreNone) {
  MeetingPlace meeting;
  EXPECT_THROW(join_gang(meeting.place(2, 2), at::kCPU), std::invalid_argument);
  EXPECT_THROW(join_gang(meeting.place(0, 1), at::kCPU), std::invalid_argument);
  EXPECT_THROW(join_gang({0, 2}, at::kCPU), std::invalid_argument) << "without a way to the others";
  const std::string why = no_gang_on("cuda");
  EXPECT_EQ(no_gang_on("cpu"), "");
  EXPECT_THAT(no_gang_on("vulkan"), HasSubstr("several devices of kind vulkan"));
  if (why.empty()) GTEST_SKIP() << "NCCL is here";
  EXPECT_THAT(why, HasSubstr("cannot train on several GPUs together: no NCCL here: libnccl.so.2"));
  try {
    join_gang(meeting.place(0, 2), at::Device(at::kCUDA, 0));
    FAIL() << "a group of GPUs was formed";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr(why + "; set placement.devices to 1"));
  }
}

}  // namespace
}  // namespace locus::engine

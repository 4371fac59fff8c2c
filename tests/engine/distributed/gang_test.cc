// Exchanges between processes: sums, agreement, and what those see who lose another one.
#include <gmock/gmock.h>

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
  const RendezvousFolder folder;
  std::string seen;
  std::mutex mutex;
  std::condition_variable changed;
  bool given_up = false;
  std::thread silent([&] {
    const auto gang = join_gang(folder.place(1, 2, "1/1", 1), at::kCPU);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return given_up; });
  });
  seen = attempt_to_meet(folder.place(0, 2, "1/1", 1));
  {
    const std::lock_guard lock(mutex);
    given_up = true;
  }
  changed.notify_all();
  silent.join();
  EXPECT_THAT(seen, HasSubstr("waited for longer than 1 s"));
}

TEST(Gangs, NeverHoldARankOfAnOlderAttempt) {
  const RendezvousFolder folder;
  std::string older, newer;
  std::thread left_over([&] { older = attempt_to_meet(folder.place(1, 2, "1/1", 1)); });
  newer = attempt_to_meet(folder.place(0, 2, "1/2", 1));
  left_over.join();
  EXPECT_THAT(older, HasSubstr("rank 1 of 2"));
  EXPECT_THAT(newer, HasSubstr("rank 0 of 2"));
}

TEST(Gangs, RefusePlacesAndDevicesThatAreNone) {
  const RendezvousFolder folder;
  EXPECT_THROW(join_gang(folder.place(2, 2), at::kCPU), std::invalid_argument);
  EXPECT_THROW(join_gang(folder.place(0, 1), at::kCPU), std::invalid_argument);
  try {
    join_gang(folder.place(0, 2), at::Device(at::kCUDA, 0));
    FAIL() << "a group of GPUs was formed";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("runs on CPU slots alone"));
  }
}

}  // namespace
}  // namespace locus::engine

// The provisioner's looks: what it starts, and that it starts no more whatever befalls it.
#include "provisioner/provisioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"

namespace locus {
namespace {

// A cluster in memory; `between` runs once after the jobs were counted, where another provisioner may be at work.
struct Cluster : Engine {
  absl::StatusOr<int> count() override {
    if (!broken.ok()) return broken;
    const int counted = jobs;
    if (auto then = std::exchange(between, {})) then();
    return counted;
  }
  absl::Status start(const std::vector<NewWorker>& started) override {
    const int workers = static_cast<int>(started.size());
    names.insert(names.end(), started.begin(), started.end());
    jobs += std::min(workers, dies_after);
    most = std::max(most, jobs);
    return workers <= dies_after ? absl::OkStatus() : absl::UnavailableError("it died on the way");
  }
  int jobs = 0, most = 0, dies_after = 1000;
  absl::Status broken;
  std::vector<NewWorker> names;
  std::function<void()> between;
};

struct Looks : ::testing::Test {
  Provisioner provisioner(int max = 8) {
    PoolRules rules;
    rules.max = max;
    return Provisioner(
        "gpu", rules, cluster, [this]() -> absl::StatusOr<v1::Demand> { return demand; }, invite);
  }
  Looks() {
    demand.set_queued(100);
    demand.add_groups()->set_device_seconds(1e6);
  }
  v1::Demand demand;
  Cluster cluster;
  InviteWorker invite;
};

TEST_F(Looks, FillThePoolRoundByRound) {
  Provisioner one = provisioner();
  for (const int there : {0, 2, 4, 6}) EXPECT_EQ(*one.look(), (ProvisionRound{100, 8, there, 2}));
  EXPECT_EQ(*one.look(), (ProvisionRound{100, 8, 8, 0}));
}

TEST_F(Looks, ReplaceWhatEndedWhileSomethingWaits) {
  Provisioner one = provisioner();
  cluster.jobs = 8;
  EXPECT_EQ(one.look()->started, 0);
  cluster.jobs = 7;
  EXPECT_EQ(one.look()->started, 1);
  demand.Clear();
  cluster.jobs = 3;
  EXPECT_EQ(one.look()->started, 0);
}

TEST_F(Looks, OfTwoAtTheSameMomentExceedTheMostByARoundAtMost) {
  for (int max = 1; max <= 40; ++max) {
    cluster = Cluster();
    Provisioner one = provisioner(max), other = provisioner(max);
    for (int i = 0; i < 3 * max; ++i) {
      cluster.between = [&] { ASSERT_TRUE(other.look().ok()); };
      ASSERT_TRUE(one.look().ok());
    }
    EXPECT_LE(cluster.most, max + std::max(1, max / 4)) << max;
    EXPECT_GE(cluster.most, max) << max;
  }
}

TEST_F(Looks, AfterAStartThatFailedHalfwayCountAgain) {
  Provisioner one = provisioner();
  cluster.dies_after = 1;
  EXPECT_FALSE(one.look().ok());
  EXPECT_EQ(cluster.jobs, 1);
  cluster.dies_after = 1000;
  EXPECT_EQ(one.look()->there, 1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(one.look().ok());
  EXPECT_EQ(cluster.jobs, 8);
}

TEST_F(Looks, StartNothingWhereNothingCanBeCounted) {
  Provisioner one = provisioner();
  cluster.broken = absl::UnavailableError("squeue: cannot connect");
  EXPECT_FALSE(one.look().ok());
  EXPECT_EQ(cluster.jobs, 0);
}

TEST_F(Looks, NameEachWorkerAnewAndInviteItWhereItIsAskedForThat) {
  EXPECT_TRUE(provisioner().look().ok());
  ASSERT_EQ(cluster.names.size(), 2u);
  EXPECT_NE(cluster.names[0].name, cluster.names[1].name);
  EXPECT_TRUE(cluster.names[0].name.starts_with("gpu-")) << cluster.names[0].name;
  EXPECT_EQ(cluster.names[0].token, "");
  invite = [](const std::string& name) { return "token of " + name; };
  EXPECT_TRUE(provisioner().look().ok());
  ASSERT_EQ(cluster.names.size(), 4u);
  EXPECT_EQ(cluster.names[3].token, "token of " + cluster.names[3].name);
}

// Those that end for want of work would be started again every quarter of an hour.
TEST_F(Looks, LetStayWhatThePoolKeepsEvenWhenNothingWaits) {
  const auto staying = [this] {
    return std::count_if(cluster.names.begin(), cluster.names.end(), [](const NewWorker& one) { return one.stays; });
  };
  PoolRules rules{.min = 3, .max = 8, .datasets = {}, .labels = {}};
  Provisioner one("gpu", rules, cluster, [this]() -> absl::StatusOr<v1::Demand> { return demand; });
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(one.look().ok());
  EXPECT_EQ(cluster.names.size(), 8u);
  EXPECT_EQ(staying(), 3);
  demand.Clear();
  cluster.jobs = 2;  // one whose time was over among those that ended
  EXPECT_EQ(one.look()->started, 1);
  EXPECT_EQ(staying(), 4);
}

TEST_F(Looks, StartNothingThatIsNotInvited) {
  invite = [](const std::string&) { return absl::PermissionDeniedError("not your pool"); };
  EXPECT_FALSE(provisioner().look().ok());
  EXPECT_EQ(cluster.jobs, 0);
}

TEST_F(Looks, StartNothingWithoutTheServer) {
  Provisioner one("gpu", {}, cluster,
                  []() -> absl::StatusOr<v1::Demand> { return absl::UnavailableError("no server"); });
  EXPECT_FALSE(one.look().ok());
  EXPECT_EQ(cluster.jobs, 0);
}

}  // namespace
}  // namespace locus

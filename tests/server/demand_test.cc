// What waits for a device through the wire, and what is kept from workers that end.
#include <gmock/gmock.h>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using ::testing::HasSubstr;

class Demand : public ServerTest {
 protected:
  void SetUp() override { start(); }
  v1::Demand demand() {
    v1::Demand out;
    EXPECT_TRUE(workers_->GetDemand(deadline().get(), {}, &out).ok());
    return out;
  }
  // The small specification is done, by a worker that takes no more.
  void run_the_like() {
    submit(small_specification());
    FakeWorker worker(channel_, "before");
    ASSERT_TRUE(worker.register_with().ok());
    ASSERT_EQ(worker.run_all([](const std::string&, std::int64_t, int) { return 80.0; }), 18);
    v1::DrainWorkerRequest leave;
    leave.set_name("before");
    v1::Worker drained;
    ASSERT_TRUE(workers_->DrainWorker(deadline().get(), leave, &drained).ok());
  }
  // More seeds of it, with far longer trainings, wait.
  void queue_long_trainings() {
    run_the_like();
    submit(small_specification({{"name", "long"}, {"train", {{"epochs", kManyEpochs}}}}));
  }
  // Of a life of ten days so many seconds are left.
  static std::function<void(v1::RegisterWorkerRequest&)> ends_in(std::int64_t seconds) {
    return [seconds](v1::RegisterWorkerRequest& request) {
      request.mutable_time_left()->set_seconds(seconds);
      request.mutable_lifetime()->set_seconds(1'000'000'000);
    };
  }
  // One training of that name, of a seed that has not run.
  static Json one(const std::string& name, std::int64_t seed, int epochs, const Json& placement = Json::object()) {
    return small_specification({{"name", name},
                                {"train", {{"epochs", epochs}}},
                                {"matrix", {{"prior", {"learned-absolute"}}}},
                                {"replicates", {{"seed", {seed}}}},
                                {"placement", placement}});
  }
  std::string why(const std::string& trial) {
    v1::ExplainRequest request;
    request.set_trial(trial);
    v1::Explanation out;
    EXPECT_TRUE(experiments_->Explain(deadline().get(), request, &out).ok());
    return out.ShortDebugString();
  }
  static constexpr int kManyEpochs = 100'000;
};

TEST_F(Demand, IsNothingWhereNothingWaits) {
  EXPECT_EQ(demand().queued(), 0);
  EXPECT_EQ(demand().groups_size(), 0);
}

TEST_F(Demand, CountsWhatWaitsByWhatItAsks) {
  submit(small_specification());
  const v1::Demand waits = demand();
  EXPECT_EQ(waits.queued(), 9) << "trainings; what follows on them does not wait for a device";
  EXPECT_EQ(waits.without_estimate(), 9) << "nothing like it ever ran";
  EXPECT_EQ(waits.device_seconds(), 0);
  ASSERT_EQ(waits.groups_size(), 3) << "one a prior";
  for (const v1::DemandGroup& group : waits.groups()) {
    EXPECT_EQ(group.queued(), 3);
    EXPECT_EQ(group.workers(), 0);
    EXPECT_TRUE(group.revisions().contains("dataset/fashion-mnist"));
  }
}

TEST_F(Demand, CountsTheWorkersThatCouldTakeIt) {
  submit(small_specification());
  FakeWorker able(channel_, "able"), other(channel_, "other");
  ASSERT_TRUE(able.register_with().ok());
  ASSERT_TRUE(
      other
          .register_with([](v1::RegisterWorkerRequest& request) { request.mutable_revisions()->erase("prior/violin"); })
          .ok());
  const v1::Demand waits = demand();
  for (const v1::DemandGroup& group : waits.groups())
    EXPECT_EQ(group.workers(), group.revisions().contains("prior/violin") ? 1 : 2);
}

TEST_F(Demand, IsEstimatedByWhatRan) {
  queue_long_trainings();
  const v1::Demand waits = demand();
  EXPECT_EQ(waits.queued(), 9);
  EXPECT_EQ(waits.without_estimate(), 0);
  EXPECT_GT(waits.device_seconds(), 0);
}

TEST_F(Demand, StandsAtItsAddressAndAmongTheMetrics) {
  submit(small_specification());
  const Json answer = Json::parse(http().get("/api/v1/demand").body);
  EXPECT_EQ(answer.at("queued"), "9");
  EXPECT_EQ(answer.at("groups").size(), 3u);
  const std::string metrics = http().get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("locus_queued_stages 9"));
  EXPECT_THAT(metrics, HasSubstr("locus_queued_without_estimate 9"));
}

TEST_F(Demand, IsKeptFromAWorkerThatEndsBeforeItIsMet) {
  queue_long_trainings();
  const std::int64_t each = static_cast<std::int64_t>(demand().device_seconds()) / 9;
  ASSERT_GT(each, 10) << "a training of the test takes at least a tenth of a millisecond";
  FakeWorker near(channel_, "near");
  ASSERT_TRUE(near.register_with(ends_in(each / 2)).ok());
  server_->estimate_waiting();
  EXPECT_FALSE(near.acquire());
  EXPECT_THAT(why("long/0"), HasSubstr("waits for a worker that stays: near ends in"));
  FakeWorker far(channel_, "far");
  ASSERT_TRUE(far.register_with(ends_in(100 * each)).ok());
  EXPECT_TRUE(far.acquire());
}

TEST_F(Demand, IsKeptFromNobodyBeforeItIsEstimated) {
  submit(small_specification());
  FakeWorker near(channel_, "near");
  ASSERT_TRUE(near.register_with(ends_in(60)).ok());
  server_->estimate_waiting();
  EXPECT_TRUE(near.acquire());
}

TEST_F(Demand, TellsLabelsAndDevicesApart) {
  submit(one("plain", 1, 2));
  submit(one("placed", 2, 2, {{"require", {{"pool", "vision"}}}, {"devices", 2}}));
  const v1::Demand waits = demand();
  ASSERT_EQ(waits.groups_size(), 2);
  for (const v1::DemandGroup& group : waits.groups()) {
    EXPECT_EQ(group.queued(), 1);
    EXPECT_EQ(group.devices(), group.require().empty() ? 1 : 2);
    EXPECT_TRUE(group.require().empty() || group.require().at("pool") == "vision");
  }
}

// No worker has said when it ends, and no stage has a limit of time.
TEST_F(Demand, IsMetMeanwhileOnKeptSlotsWhereItsLikeSaysThatItIsOverInTime) {
  run_the_like();
  FakeWorker node(channel_, "node");
  const auto four_slots = [](v1::RegisterWorkerRequest& request) {
    for (int slot = 1; slot < 4; ++slot) *request.add_slots() = request.slots(0);
  };
  ASSERT_TRUE(node.register_with(four_slots).ok());
  submit(one("long", 7, kManyEpochs));
  ASSERT_TRUE(node.acquire());
  submit(one("gang", 8, 2, {{"devices", 4}}));
  submit(one("too-long", 9, 2 * kManyEpochs));
  submit(one("short", 10, 2));
  node.free_slots = {1, 2, 3};
  EXPECT_FALSE(node.acquire());
  EXPECT_THAT(why("short/0"), HasSubstr("nobody knows when that can begin"));
  server_->estimate_waiting();
  const auto work = node.acquire();
  ASSERT_TRUE(work) << why("short/0");
  EXPECT_EQ(work->seed, 10);
  EXPECT_FALSE(node.acquire());
  EXPECT_THAT(why("too-long/0"), HasSubstr("once and a half what its like took"));
}

TEST_F(Demand, OfAWorkerItsEndIsShownToPeople) {
  FakeWorker near(channel_, "near"), stays(channel_, "stays");
  ASSERT_TRUE(near.register_with(ends_in(3600)).ok());
  ASSERT_TRUE(stays.register_with().ok());
  v1::ListWorkersResponse list;
  ASSERT_TRUE(workers_->ListWorkers(deadline().get(), {}, &list).ok());
  ASSERT_EQ(list.workers_size(), 2);
  EXPECT_TRUE(list.workers(0).has_end_time());
  EXPECT_FALSE(list.workers(1).has_end_time());
}

}  // namespace
}  // namespace locus::test

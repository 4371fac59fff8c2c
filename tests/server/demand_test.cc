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
  // The small specification is done; more seeds of it, with far longer trainings, wait.
  void queue_long_trainings() {
    submit(small_specification());
    FakeWorker worker(channel_, "before");
    ASSERT_TRUE(worker.register_with().ok());
    ASSERT_EQ(worker.run_all([](const std::string&, std::int64_t, int) { return 80.0; }), 18);
    v1::DrainWorkerRequest leave;
    leave.set_name("before");
    v1::Worker drained;
    ASSERT_TRUE(workers_->DrainWorker(deadline().get(), leave, &drained).ok());
    submit(small_specification({{"name", "long"}, {"train", {{"epochs", kManyEpochs}}}}));
  }
  // Of a life of ten days so many seconds are left.
  static std::function<void(v1::RegisterWorkerRequest&)> ends_in(std::int64_t seconds) {
    return [seconds](v1::RegisterWorkerRequest& request) {
      request.mutable_time_left()->set_seconds(seconds);
      request.mutable_lifetime()->set_seconds(1'000'000'000);
    };
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
  v1::ExplainRequest why;
  why.set_trial("long/0");
  v1::Explanation reason;
  ASSERT_TRUE(experiments_->Explain(deadline().get(), why, &reason).ok());
  EXPECT_THAT(reason.ShortDebugString(), HasSubstr("waits for a worker that stays: near ends in"));
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

// Workers that people drain, at once or from a later time on.
#include <gmock/gmock.h>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::StartsWith;

class Drains : public ServerTest {
 protected:
  void SetUp() override {
    start();
    submit(small_specification());
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
    ASSERT_TRUE(worker_->register_with().ok());
  }

  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(Drains, GiveAWorkerNothingAndShowItsTrouble) {
  const auto work = worker_->acquire();
  ASSERT_TRUE(worker_->fail(*work, "code", "boom").ok());
  v1::DrainWorkerRequest request;
  request.set_name("one");
  request.set_reason("fan is loud");
  v1::Worker worker;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(workers_->DrainWorker(deadline().get(), request, &worker).ok());
    EXPECT_EQ(worker.state(), "draining");
    EXPECT_EQ(worker.reason(), "fan is loud");
  }
  EXPECT_FALSE(worker_->acquire());
  v1::GetWorkerRequest get;
  get.set_name("one");
  v1::WorkerDetail detail;
  ASSERT_TRUE(workers_->GetWorker(deadline().get(), get, &detail).ok());
  EXPECT_EQ(detail.worker().failed(), 1);
  ASSERT_EQ(detail.attempts_size(), 1);
  EXPECT_EQ(detail.attempts(0).reason(), "boom");
  EXPECT_THAT(detail.attempts(0).title(), StartsWith("small/"));
  EXPECT_EQ(detail.attempts(0).kind(), "train");
  v1::UndrainWorkerRequest back;
  back.set_name("one");
  ASSERT_TRUE(workers_->UndrainWorker(deadline().get(), back, &worker).ok());
  EXPECT_EQ(worker.state(), "active");
  EXPECT_TRUE(worker_->acquire());
  get.set_name("nobody");
  EXPECT_EQ(wire_error(workers_->GetWorker(deadline().get(), get, &detail)).reason, "WORKER_NOT_FOUND");
}

TEST_F(Drains, FromALaterTimeOnGiveItWorkBefore) {
  v1::DrainWorkerRequest request;
  request.set_name("one");
  request.set_until("2h");
  v1::Worker worker;
  ASSERT_TRUE(workers_->DrainWorker(deadline().get(), request, &worker).ok());
  EXPECT_EQ(worker.state(), "active");
  EXPECT_EQ(worker.reason(), "drained by a person");
  EXPECT_GT(worker.drain_time().seconds(), worker.seen_time().seconds() + 7000);
  EXPECT_NEAR(static_cast<double>(worker.end_time().seconds() - worker.drain_time().seconds()), 0, 1);
  EXPECT_TRUE(worker_->acquire());
  v1::UndrainWorkerRequest back;
  back.set_name("one");
  ASSERT_TRUE(workers_->UndrainWorker(deadline().get(), back, &worker).ok());
  EXPECT_FALSE(worker.has_drain_time());
  EXPECT_FALSE(worker.has_end_time());
  request.set_until("yesterday");
  const WireError refused = wire_error(workers_->DrainWorker(deadline().get(), request, &worker));
  EXPECT_EQ(refused.reason, "INVALID_ARGUMENT");
  EXPECT_EQ(refused.field, "until");
}

}  // namespace
}  // namespace locus::test

// Stop points between server and workers: grants and heartbeats carry them, and an attempt may end as parked.
#include "core/base/error.h"
#include "storage/sqlite/store.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

constexpr std::int64_t kStop = 20;

// One trial of a training, whose link wants no more than kStop steps of it, and an evaluation.
class StopPoints : public ServerTest {
 protected:
  void SetUp() override {
    options_.data = folder_.path();
    start(options_);
    submit(small_specification({{"matrix", {{"prior", {"learned-absolute"}}}}, {"replicates", {{"seed", {0}}}}}));
    set_stop_point(kStop);
  }
  // As a search would, but behind the back of a server that is not there meanwhile.
  void set_stop_point(std::int64_t until_step) {
    stop();
    {
      auto store = open_sqlite_store(folder_.path(), system_clock());
      ASSERT_TRUE(store.ok()) << store.status();
      const auto row = (*store)->experiment("small");
      ASSERT_TRUE(row.ok()) << row.status();
      const auto snapshot = (*store)->load();
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      ResolveTrials resolve{.id = row->id, .cells = {}, .trials = {}, .stages = {}, .trial_stages = {}};
      for (const StageReference& link : snapshot->references) {
        const auto stage = (*store)->stage(link.stage);
        ASSERT_TRUE(stage.ok()) << stage.status();
        if (stage->kind == "train") resolve.trial_stages.push_back({link.trial, "train", link.stage, until_step});
      }
      ASSERT_EQ(resolve.trial_stages.size(), 1u);
      const Mutation mutation = resolve;
      const absl::Status stored = (*store)->apply({&mutation, 1}, system_clock().wall());
      ASSERT_TRUE(stored.ok()) << stored;
    }
    start(options_);
  }
  std::optional<Assigned> granted(FakeWorker& worker) {
    const grpc::Status registered = worker.register_with();
    EXPECT_TRUE(registered.ok()) << registered.error_message();
    return worker.acquire();
  }
  v1::HeldAttempt held(const Assigned& work) {
    v1::HeldAttempt out;
    out.set_stage(work.grant.stage());
    out.set_attempt(work.grant.attempt());
    return out;
  }
  static void parked_at(std::int64_t step, v1::CompleteAttemptRequest& request) {
    request.set_outcome("parked");
    request.set_step(step);
    request.set_last_seq(2);
  }
  // As far as the stop point, with its checkpoint there.
  void train_to_stop(FakeWorker& worker, const Assigned& work) {
    EXPECT_EQ(worker.report(work, "loss", "train", {3, 2}).acked_seq(), 2);  // steps 10 and 20
    EXPECT_TRUE(worker.commit_checkpoint(work, kStop, worker.upload("weights of step 20")).ok());
  }
  v1::StageDetail training() {
    v1::GetTrialRequest request;
    request.set_name("small/0");
    v1::TrialDetail detail;
    const grpc::Status status = experiments_->GetTrial(deadline().get(), request, &detail);
    EXPECT_TRUE(status.ok()) << status.error_message();
    for (const v1::StageDetail& stage : detail.stages()) {
      if (stage.kind() == "train") return stage;
    }
    ADD_FAILURE() << "no training";
    return {};
  }

  TemporaryFolder folder_;
  ServerOptions options_;
};

TEST_F(StopPoints, AreToldWithTheGrantAndAtEveryHeartbeat) {
  FakeWorker worker(channel_, "one");
  const auto work = granted(worker);
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->grant.until_step(), kStop);
  for (int i = 0; i < 2; ++i) {
    v1::SyncLeasesResponse wishes;
    ASSERT_TRUE(worker.sync({held(*work)}, &wishes).ok());
    ASSERT_EQ(wishes.wishes_size(), 1);
    EXPECT_EQ(wishes.wishes(0).wish(), v1::WISH_CONTINUE);
    EXPECT_EQ(wishes.wishes(0).until_step(), kStop);
  }
}

TEST_F(StopPoints, AreNoneWhereEverythingIsWanted) {
  set_stop_point(kToTheEnd);
  FakeWorker worker(channel_, "one");
  const auto work = granted(worker);
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->grant.until_step(), 0);
  v1::SyncLeasesResponse wishes;
  ASSERT_TRUE(worker.sync({held(*work)}, &wishes).ok());
  ASSERT_EQ(wishes.wishes_size(), 1);
  EXPECT_EQ(wishes.wishes(0).until_step(), 0);
}

TEST_F(StopPoints, RefuseAParkedAttemptThatDoesNotSayWhere) {
  FakeWorker worker(channel_, "one");
  const auto work = granted(worker);
  ASSERT_TRUE(work.has_value());
  train_to_stop(worker, *work);
  for (const std::int64_t nowhere : {0, -1}) {
    const grpc::Status refused =
        worker.complete(*work, [&](v1::CompleteAttemptRequest& request) { parked_at(nowhere, request); });
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(wire_error(refused).reason, "INVALID_ARGUMENT");
    EXPECT_EQ(wire_error(refused).field, "step");
  }
  EXPECT_EQ(training().state(), "running") << "a refusal costs nothing";
}

TEST_F(StopPoints, ParkAStageUntilMoreOfItIsWanted) {
  {
    FakeWorker worker(channel_, "one");
    const auto work = granted(worker);
    ASSERT_TRUE(work.has_value());
    train_to_stop(worker, *work);
    for (int i = 0; i < 2; ++i) {  // sent again: one effect
      const grpc::Status parked =
          worker.complete(*work, [](v1::CompleteAttemptRequest& request) { parked_at(kStop, request); });
      EXPECT_TRUE(parked.ok()) << parked.error_message();
    }
    const v1::StageDetail stage = training();
    EXPECT_EQ(stage.state(), "parked");
    ASSERT_EQ(stage.attempts_size(), 1);
    EXPECT_EQ(stage.attempts(0).state(), "parked");
    EXPECT_EQ(stage.failures(), 0);
    EXPECT_EQ(stage.faults(), 0);
    EXPECT_FALSE(worker.acquire().has_value()) << "nothing more is wanted";
  }
  stop();
  start(options_);
  FakeWorker after(channel_, "one");
  EXPECT_FALSE(granted(after).has_value()) << "nor after a restart";
  EXPECT_EQ(training().state(), "parked");
}

}  // namespace
}  // namespace locus::test

// The daemon and attempts that are to park at a stop point.
#include <cstdlib>

#include "tests/worker/worker_fixture.h"

namespace locus {
namespace {

using testing::HasSubstr;

const Json kEveryTenth = Json::array({10, 20, 30, 40});

class WorkerParking : public WorkerTest {
 protected:
  // Parked at `step`, told once its checkpoint and all points up to there were stored.
  void expect_parked(std::int64_t id, std::int64_t attempt, std::int64_t first, std::int64_t step) {
    const FakeStage parked = stage(id);
    ASSERT_TRUE(parked.attempts.contains(attempt));
    const FakeAttempt& end = parked.attempts.at(attempt);
    ASSERT_TRUE(end.outcome.has_value());
    EXPECT_EQ(end.outcome->outcome(), "parked") << end.outcome->reason();
    EXPECT_EQ(end.outcome->step(), step);
    EXPECT_EQ(end.outcome->outputs_size(), 0);
    EXPECT_EQ(end.outcome->results_size(), 0);
    EXPECT_EQ(end.parked_above, step) << "the checkpoint was committed before";
    EXPECT_EQ(steps(id, attempt), range(first, step));
    EXPECT_EQ(store_.early_checkpoints, 0);
  }
  bool wait_points(std::int64_t id, std::int64_t attempt, std::size_t count) {
    return store_.wait([&] { return store_.stages.at(id).attempts[attempt].points.size() == count; });
  }
};

TEST_F(WorkerParking, IsWhereTheGrantSays) {
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}}, 15);
  ASSERT_TRUE(store_.wait_state(id, "parked")) << daemon.log();
  expect_parked(id, 1, 1, 20);
  EXPECT_THAT(stage(id).attempts.at(1).log_at_completion, HasSubstr("] parked at step 20\n"));
}

TEST_F(WorkerParking, GoesOnFromThereWhenMoreIsWanted) {
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}}, 10);
  ASSERT_TRUE(store_.wait_state(id, "parked")) << daemon.log();
  store_.move_stop_point(id, 30);
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[2].outcome.has_value(); })) << daemon.log();
  expect_parked(id, 2, 11, 30);
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 10);
  store_.move_stop_point(id, 0);
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(3).resume_step, 30);
  EXPECT_EQ(steps(id, 3), range(31, 50));
}

// Raised, taken away, lowered below what is done, set where there was none: each while the trainer waits for it.
TEST_F(WorkerParking, FollowsAStopPointThatMovesWhileItRuns) {
  struct Move {
    std::int64_t from, to, parked;  // 0: it goes to its end
  };
  Daemon daemon(server_.address(), work());
  for (const Move move : {Move{10, 30, 30}, Move{10, 0, 0}, Move{40, 5, 10}, Move{40, -1, 10}, Move{0, 20, 20}}) {
    SCOPED_TRACE(std::to_string(move.from) + " to " + std::to_string(move.to));
    const auto id = store_.add_stage_until(
        {{"steps", 50}, {"validate_at", kEveryTenth}, {"at", {{"8", {{"do", "await-until"}, {"step", move.to}}}}}},
        move.from);
    ASSERT_TRUE(wait_points(id, 1, 7)) << daemon.log();
    store_.move_stop_point(id, move.to);
    ASSERT_TRUE(store_.wait_state(id, move.parked > 0 ? "parked" : "succeeded")) << daemon.log();
    if (move.parked > 0) expect_parked(id, 1, 1, move.parked);
    EXPECT_EQ(stage(id).attempt, 1);
  }
}

TEST_F(WorkerParking, KnowsOfAStopPointThatMovedWhileTheServerWasAway) {
  const std::string held = gate("gate");
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage_until(
      {{"steps", 50},
       {"validate_at", kEveryTenth},
       {"at", {{"5", {{"do", "gate"}, {"path", held}}}, {"15", {{"do", "await-until"}, {"step", 20}}}}}},
      0);
  ASSERT_TRUE(wait_points(id, 1, 4)) << daemon.log();
  server_.stop();
  open_gate(held);
  store_.move_stop_point(id, 20);
  server_.start();
  ASSERT_TRUE(store_.wait_state(id, "parked")) << daemon.log();
  expect_parked(id, 1, 1, 20);
}

TEST_F(WorkerParking, IsToldOnlyWhenTheCheckpointIsCommitted) {
  store_.commit_checkpoints = false;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}}, 10);
  ASSERT_TRUE(store_.wait([&] { return store_.refused_checkpoints.size() >= 2; })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    EXPECT_EQ(store_.stages.at(id).state, "running");
    store_.commit_checkpoints = true;
  }
  ASSERT_TRUE(store_.wait_state(id, "parked")) << daemon.log();
  expect_parked(id, 1, 1, 10);
}

TEST_F(WorkerParking, IsToldByTheNextDaemonWithTheCheckpointWhenThisOneWasKilled) {
  store_.commit_checkpoints = false;
  auto daemon = std::make_unique<Daemon>(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}}, 10);
  ASSERT_TRUE(store_.wait([&] { return !store_.refused_checkpoints.empty(); })) << daemon->log();
  const auto outcome = work() / "attempts" / "1-1" / "outcome";
  for (int i = 0; i < 6000 && !std::filesystem::exists(outcome); ++i) ::poll(nullptr, 0, 10);
  ASSERT_TRUE(std::filesystem::exists(outcome)) << daemon->log();
  daemon->signal(SIGKILL);
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  {
    std::lock_guard lock(store_.mutex);
    store_.artifacts.clear();  // nobody had named it
    store_.commit_checkpoints = true;
  }
  daemon = std::make_unique<Daemon>(server_.address(), work());
  ASSERT_TRUE(store_.wait_state(id, "parked")) << daemon->log();
  expect_parked(id, 1, 1, 10);
  store_.move_stop_point(id, 0);
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon->log();
  EXPECT_EQ(stage(id).attempt, 2);
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 10);
}

TEST_F(WorkerParking, FailsAsLostWhenTheCheckpointIsGoneWithTheKilledDaemon) {
  store_.commit_checkpoints = false;
  store_.attempts_at_most = 1;
  auto daemon = std::make_unique<Daemon>(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}}, 10);
  ASSERT_TRUE(store_.wait([&] { return !store_.refused_checkpoints.empty(); })) << daemon->log();
  const auto outcome = work() / "attempts" / "1-1" / "outcome";
  for (int i = 0; i < 6000 && !std::filesystem::exists(outcome); ++i) ::poll(nullptr, 0, 10);
  daemon->signal(SIGKILL);
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  {
    std::lock_guard lock(store_.mutex);
    store_.artifacts.clear();
    store_.commit_checkpoints = true;
  }
  std::filesystem::remove_all(work() / "artifacts");
  daemon = std::make_unique<Daemon>(server_.address(), work());
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon->log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "worker-lost");
  EXPECT_EQ(stage(id).checkpoint_step, 0);
}

TEST_F(WorkerParking, FailsAsLostWithoutACheckpoint) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}, {"lose_parked", true}}, 10);
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  const auto end = *stage(id).attempts.at(1).outcome;
  EXPECT_EQ(end.outcome(), "failed");
  EXPECT_EQ(end.failure_class(), "worker-lost");
  EXPECT_EQ(end.step(), 0);
  EXPECT_EQ(end.reason(), "the checkpoint of step 10, where it parked, was lost");
}

TEST_F(WorkerParking, KeepsTheTrainerForTheNextAttempt) {
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage_until({{"steps", 50}, {"validate_at", kEveryTenth}}, 10);
  ASSERT_TRUE(store_.wait_state(id, "parked")) << daemon.log();
  const auto next = store_.add_stage({{"steps", 12}, {"validate_at", kEveryTenth}});
  ASSERT_TRUE(store_.wait_state(next, "succeeded")) << daemon.log();
  EXPECT_EQ(steps(next, 1), range(1, 12)) << "the other's stop point is not its own";
}

}  // namespace
}  // namespace locus

// The daemon when the server goes, comes back or changes its mind, and when the daemon itself is ended.
#include <cstdlib>

#include "tests/worker/worker_fixture.h"
#include "worker/link/outbox.h"

namespace locus {
namespace {

class WorkerRecovery : public WorkerTest {};

TEST_F(WorkerRecovery, TrainsOnThroughAServerRestart) {
  const std::string before = gate("before");
  const std::string after = gate("after");
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage(
      {{"steps", 300},
       {"checkpoint_at", {150, 250}},
       {"at", {{"100", {{"do", "gate"}, {"path", before}}}, {"200", {{"do", "gate"}, {"path", after}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 99; })) << daemon.log();
  server_.stop();
  open_gate(before);
  open_gate(after);  // it came as far as step 200 without a server
  server_.start();
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(id).attempt, 1);
  EXPECT_EQ(steps(id, 1), range(1, 300));
  EXPECT_GE(store_.registrations, 2);
}

TEST_F(WorkerRecovery, DropsAStaleAttempt) {
  const std::string held = gate("gate");
  Daemon daemon(server_.address(), work());
  // It must not be through before it hears that it is stale.
  const auto id = store_.add_stage(
      {{"steps", 300},
       {"at",
        {{"10", {{"do", "gate"}, {"attempt", 1}, {"path", held}}}, {"20", {{"do", "await-wish"}, {"attempt", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 9; })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    ++store_.stages.at(id).attempt;  // granted to another worker, which then lost it
    store_.stages.at(id).state = "running";
    store_.stages.at(id).session = "another";
  }
  open_gate(held);
  ASSERT_TRUE(daemon.wait_log("attempt 1/1 is discarded")) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    store_.stages.at(id).state = "queued";
    store_.changed.notify_all();
  }
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(id).attempt, 3);
  EXPECT_EQ(steps(id, 3), range(1, 300));
  EXPECT_FALSE(stage(id).attempts[1].outcome);
}

TEST_F(WorkerRecovery, DropsAnAttemptThatTheServerTakesForAnothers) {
  store_.take_uploads = false;
  Daemon daemon(server_.address(), work());
  // It must not be through before it hears that.
  const auto id = store_.add_stage({{"steps", 20}, {"checkpoint_at", {5}}, {"at", {{"10", {{"do", "await-wish"}}}}}});
  ASSERT_TRUE(daemon.wait_log("attempt 1/1 is discarded")) << daemon.log();
  EXPECT_FALSE(stage(id).attempts[1].outcome);
  {
    std::lock_guard lock(store_.mutex);
    store_.take_uploads = true;
  }
  const auto next = store_.add_stage({{"steps", 3}});
  EXPECT_TRUE(store_.wait_state(next, "succeeded")) << "the slot is free: " << daemon.log();
}

TEST_F(WorkerRecovery, StopsWithACheckpointWhenTheServerWishesIt) {
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "await-wish"}, {"attempt", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 19; })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    store_.stages.at(id).wish = v1::WISH_CHECKPOINT_AND_STOP;
  }
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->outcome(), "stopped");
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 19);
  EXPECT_EQ(steps(id, 2), range(20, 30));
}

TEST_F(WorkerRecovery, CancelsWithoutAReportAndKeepsTheTrainer) {
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "await-wish"}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 19; })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    store_.stages.at(id).wish = v1::WISH_CANCEL;
  }
  ASSERT_TRUE(daemon.wait_log("attempt 1/1 is discarded")) << daemon.log();
  const auto next = store_.add_stage({{"steps", 2}});
  ASSERT_TRUE(store_.wait_state(next, "succeeded")) << daemon.log();
  EXPECT_FALSE(stage(id).attempts.at(1).outcome);
}

TEST_F(WorkerRecovery, KillsATrainerThatDoesNotHeedItsCancellation) {
  Daemon daemon(server_.address(), work(), {"kill_wait=200"});
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "hang-hard"}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 19; })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    store_.stages.at(id).wish = v1::WISH_CANCEL;
  }
  ASSERT_TRUE(daemon.wait_log("attempt 1/1 is discarded")) << daemon.log();
  const auto next = store_.add_stage({{"steps", 2}});
  ASSERT_TRUE(store_.wait_state(next, "succeeded")) << daemon.log();
  EXPECT_FALSE(stage(id).attempts.at(1).outcome);
}

TEST_F(WorkerRecovery, DrainsOnSigtermAndGoesOnLater) {
  auto daemon = std::make_unique<Daemon>(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "await-wish"}, {"attempt", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 19; })) << daemon->log();
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0) << daemon->log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->outcome(), "stopped");
  EXPECT_EQ(steps(id, 1), range(1, 19));
  EXPECT_EQ(attempts_on_disk(), 0U);
  daemon = std::make_unique<Daemon>(server_.address(), work());
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon->log();
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 19);
  EXPECT_EQ(steps(id, 2), range(20, 30));
}

TEST_F(WorkerRecovery, DrainsByItselfWhenItsTimeIsOver) {
  auto daemon = std::make_unique<Daemon>(server_.address(), work(), std::vector<std::string>{"lifetime=3000"});
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "await-wish"}, {"attempt", 1}}}}}});
  EXPECT_EQ(daemon->wait(), 0) << daemon->log();
  EXPECT_THAT(daemon->log(), testing::HasSubstr("its time of 3 s is over"));
  EXPECT_GE(store_.seconds_left, 0) << "the server knows, and grants nothing that would not end before";
  EXPECT_EQ(stage(id).attempts.at(1).outcome->outcome(), "stopped");
  EXPECT_EQ(attempts_on_disk(), 0U);
  daemon = std::make_unique<Daemon>(server_.address(), work());
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon->log();
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 19);
  EXPECT_EQ(store_.seconds_left, -1);
}

TEST_F(WorkerRecovery, EndsByItselfWhenItHasNothingToDo) {
  const auto id = store_.add_stage({{"steps", 3}});
  Daemon daemon(server_.address(), work(), {"exit_when_idle=1500"});
  EXPECT_EQ(daemon.wait(), 0) << daemon.log();
  EXPECT_THAT(daemon.log(), testing::HasSubstr("nothing to do for 1 s: draining"));
  EXPECT_EQ(stage(id).state, "succeeded");
}

TEST_F(WorkerRecovery, KeepsWhatItHasNotDeliveredFromEndingAsIdle) {
  const std::string held = gate("gate");
  const auto id = store_.add_stage({{"steps", 3}, {"at", {{"2", {{"do", "gate"}, {"path", held}}}}}});
  Daemon daemon(server_.address(), work(), {"exit_when_idle=1000"});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts.contains(1); })) << daemon.log();
  {
    const Fd waits(::open(held.c_str(), O_WRONLY));  // its trainer is there
    server_.stop();
  }
  ASSERT_TRUE(daemon.wait_log("trying again")) << daemon.log();
  server_.start();
  EXPECT_EQ(daemon.wait(), 0) << daemon.log();
  EXPECT_EQ(stage(id).state, "succeeded") << daemon.log();
}

TEST_F(WorkerRecovery, DrainDoesNotWaitForATrainerThatIgnoresIt) {
  Daemon daemon(server_.address(), work(), {"kill_wait=200"});
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "hang-hard"}, {"attempt", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 19; })) << daemon.log();
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->outcome(), "stopped");
}

TEST_F(WorkerRecovery, ASecondSignalEndsItAtOnce) {
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 30}, {"at", {{"20", {{"do", "hang-hard"}, {"attempt", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 19; })) << daemon.log();
  daemon.signal(SIGINT);
  ASSERT_TRUE(daemon.wait_log("once more to stop at once")) << daemon.log();
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait(), 128 + SIGINT);
}

TEST_F(WorkerRecovery, DeliversWhatAKilledDaemonLeft) {
  const std::string held = gate("gate");
  auto daemon = std::make_unique<Daemon>(server_.address(), work());
  const auto id = store_.add_stage(
      {{"steps", 60},
       {"checkpoint_at", {10}},
       {"at", {{"20", {{"do", "gate"}, {"attempt", 1}, {"path", held}}}, {"40", {{"do", "hang"}, {"attempt", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] {
    return store_.stages.at(id).checkpoint_step == 10 && store_.stages.at(id).attempts[1].points.size() == 19;
  })) << daemon->log();
  {
    std::lock_guard lock(store_.mutex);
    store_.acknowledge = false;  // what comes now stays in the outbox
  }
  open_gate(held);
  // How far the outbox is: of a copy, for opening it cuts off what is not whole yet.
  const auto last_written = [&] {
    const auto copy = work() / "outbox-seen";
    std::filesystem::copy_file(work() / "attempts" / "1-1" / "outbox", copy,
                               std::filesystem::copy_options::overwrite_existing);
    return Outbox::open(copy).value()->last_seq();
  };
  while (last_written() < 39) ::poll(nullptr, 0, 10);
  daemon->signal(SIGKILL);
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  {
    std::lock_guard lock(store_.mutex);
    store_.acknowledge = true;
  }
  daemon = std::make_unique<Daemon>(server_.address(), work());
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon->log();
  const auto first = steps(id, 1);
  EXPECT_GT(first.size(), 30U);
  EXPECT_EQ(first, range(1, static_cast<std::int64_t>(first.size())));
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "worker-lost");
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 10);
  EXPECT_EQ(steps(id, 2), range(11, 60));
}

TEST_F(WorkerRecovery, CommitsNoCheckpointBeforeThePointsUpToIt) {
  store_.acknowledge = false;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 30}, {"checkpoint_at", {10}}});
  ASSERT_TRUE(store_.wait([&] { return !store_.artifacts.empty(); })) << daemon.log();  // uploaded
  server_.stop();
  store_.acknowledge = true;
  server_.start();
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(id).checkpoint_step, 10);
  EXPECT_EQ(store_.early_checkpoints, 0);
}

TEST_F(WorkerRecovery, TrainersDieWithAKilledDaemon) {
  Daemon daemon(server_.address(), work());
  const auto file = folder_ / "pid";
  store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "hang-hard"}, {"pid_file", file.string()}}}}}});
  for (int i = 0; i < 6000 && !std::filesystem::exists(file); ++i) ::poll(nullptr, 0, 10);
  std::string pid;
  std::ifstream(file) >> pid;
  ASSERT_FALSE(pid.empty()) << daemon.log();
  const auto alive = [&] {  // a zombie that nobody has reaped yet is dead
    std::string number, name, state;
    std::ifstream("/proc/" + pid + "/stat") >> number >> name >> state;
    return !state.empty() && state != "Z" && state != "X";
  };
  ASSERT_TRUE(alive());
  daemon.signal(SIGKILL);
  daemon.wait();
  for (int i = 0; i < 6000 && alive(); ++i) ::poll(nullptr, 0, 10);
  EXPECT_FALSE(alive());
}

TEST_F(WorkerRecovery, PausesTrainingWhenTheOutboxIsFull) {
  store_.acknowledge = false;
  Daemon daemon(server_.address(), work(), {"outbox_bytes=2000"});
  const auto id = store_.add_stage({{"steps", 400}});
  const auto outbox = work() / "attempts" / "1-1" / "outbox";
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).state == "running"; }));
  std::error_code error;
  for (int i = 0; i < 6000 && (!std::filesystem::exists(outbox) || std::filesystem::file_size(outbox, error) < 1800);
       ++i) {
    ::poll(nullptr, 0, 10);
  }
  EXPECT_LT(std::filesystem::file_size(outbox), 4000U);
  server_.stop();
  store_.acknowledge = true;
  server_.start();
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(steps(id, 1), range(1, 400));
}

TEST_F(WorkerRecovery, WaitsForAServerThatIsNotThereYet) {
  server_.stop();
  Daemon daemon(server_.address(), work());
  ASSERT_TRUE(daemon.wait_log("no server answers at " + server_.address())) << daemon.log();
  server_.start();
  const auto id = store_.add_stage({{"steps", 2}});
  EXPECT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
}

}  // namespace
}  // namespace locus

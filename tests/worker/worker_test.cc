// The daemon with scripted trainers: attempts, their failures, and refusals at the start.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/sha256.h"
#include "tests/worker/worker_fixture.h"
#include "worker/app/load_memory.h"

namespace locus {
namespace {

using testing::HasSubstr;

TEST_F(WorkerTest, RunsAnAttemptToItsEnd) {
  Daemon daemon(server_.address(), work(), {"threads=3"});
  const auto id = store_.add_stage({{"steps", 20}});
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(steps(id, 1), range(1, 20));
  const FakeStage done = stage(id);
  EXPECT_TRUE(std::isnan(done.attempts.at(1).points[2].value));
  const auto& outcome = *done.attempts.at(1).outcome;
  ASSERT_EQ(outcome.results_size(), 1);
  EXPECT_EQ(outcome.results(0).value(), 0.5);
  ASSERT_EQ(outcome.outputs_size(), 1);
  EXPECT_EQ(outcome.outputs(0).slot(), "checkpoint");
  std::lock_guard lock(store_.mutex);
  EXPECT_EQ(store_.artifacts.at(outcome.outputs(0).sha256()).substr(0, 3), "20\n");
  EXPECT_EQ(Json::parse(outcome.environment_json()).at("threads"), "3");
}

TEST_F(WorkerTest, TellsWhatItsMachineAndTrainersDo) {
  const std::string door = gate("door");
  Daemon daemon(server_.address(), work(), {"sample=20"});
  const auto id = store_.add_stage({{"steps", 3}, {"at", {{"1", {{"do", "gate"}, {"path", door}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.samples[id].contains("system/memory_bytes"); })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    EXPECT_GT(store_.samples[id].at("system/memory_bytes"), 0);
    EXPECT_GE(store_.samples[id].at("system/cpu_percent"), 0);
    EXPECT_GT(store_.samples[0].at("system/memory_bytes"), store_.samples[id].at("system/memory_bytes"));
  }
  open_gate(door);
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, SendsWhatItsTrainersPrintAndHowTheyEnd) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage(
      {{"steps", 9},
       {"at",
        {{"3", {{"do", "print"}, {"text", "RuntimeError: shapes differ"}}}, {"4", {{"do", "exit"}, {"status", 3}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  ASSERT_TRUE(store_.wait([&] {
    const std::string& log = store_.stages.at(id).attempts.at(1).log;
    return log.find("failed (code)") != std::string::npos;
  }));
  const std::string log = stage(id).attempts.at(1).log;
  EXPECT_THAT(log, HasSubstr("begins at step 0 of 9"));
  EXPECT_THAT(log, HasSubstr("RuntimeError: shapes differ\n"));
  EXPECT_LT(log.find("shapes differ"), log.find("failed (code)"));
}

TEST_F(WorkerTest, ReusesATrainerAndTheFilesItMade) {
  Daemon daemon(server_.address(), work());
  const auto first = store_.add_stage({{"steps", 5}});
  ASSERT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
  const auto made = stage(first).attempts.at(1).outcome->outputs(0).sha256();
  const auto second = store_.add_stage({{"steps", 1}}, {{"checkpoint", made}});
  ASSERT_TRUE(store_.wait_state(second, "succeeded")) << daemon.log();
  const Json one = Json::parse(stage(first).attempts.at(1).outcome->environment_json());
  const Json two = Json::parse(stage(second).attempts.at(1).outcome->environment_json());
  EXPECT_EQ(one.at("pid"), two.at("pid"));
  EXPECT_THAT(two.at("inputs").at("checkpoint").get<std::string>(), HasSubstr(made));
  EXPECT_TRUE(store_.downloads.empty());
}

TEST_F(WorkerTest, GivesAStageThatRunsAloneATrainerOfItsOwn) {
  Daemon daemon(server_.address(), work());
  std::vector<Json> pids;
  for (const bool alone : {false, true, true, false}) {
    const auto id = store_.add_stage({{"steps", 1}}, {}, 0, alone);
    ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
    pids.push_back(Json::parse(stage(id).attempts.at(1).outcome->environment_json()).at("pid"));
  }
  EXPECT_EQ(std::set<Json>(pids.begin(), pids.end()).size(), 4u) << Json(pids).dump();
}

TEST_F(WorkerTest, OffersASlotThatBecomesFreeWhileItWaitsWithAnother) {
  store_.slots = 2;
  Daemon daemon(server_.address(), work(), {"slots=2"});
  const std::string door = gate("door");
  const auto first = store_.add_stage({{"steps", 1}, {"at", {{"1", {{"do", "gate"}, {"path", door}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.named.contains(1); })) << daemon.log();  // waits with the other slot
  const auto alone = store_.add_stage({{"steps", 1}}, {}, 0, /*exclusive=*/true);
  open_gate(door);
  ASSERT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
  ASSERT_TRUE(store_.wait_state(alone, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, DownloadsInputsOfOtherWorkersOnce) {
  const std::string digest = sha256_hex("made elsewhere");
  store_.artifacts[digest] = "made elsewhere";
  Daemon daemon(server_.address(), work());
  for (int i = 0; i < 2; ++i) {
    const auto id = store_.add_stage({{"steps", 1}}, {{"checkpoint", digest}});
    ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  }
  EXPECT_EQ(store_.downloads.size(), 1U);
}

TEST_F(WorkerTest, FailsAnAttemptWhoseInputTheServerLacks) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 1}}, {{"checkpoint", sha256_hex("lost")}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "data");
}

TEST_F(WorkerTest, ResumesFromTheCheckpointAfterItsTrainerWasKilled) {
  const std::string held = gate("gate");
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 12},
                                    {"checkpoint_at", {5}},
                                    {"at",
                                     {{"8", {{"do", "gate"}, {"attempt", 1}, {"path", held}}},
                                      {"9", {{"do", "signal"}, {"attempt", 1}, {"number", SIGKILL}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).checkpoint_step == 5; })) << daemon.log();
  open_gate(held);
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  const FakeStage done = stage(id);
  const auto& lost = *done.attempts.at(1).outcome;
  EXPECT_EQ(lost.outcome(), "failed");
  EXPECT_EQ(lost.failure_class(), "preempted");  // somebody outside ended it: no fault of the work
  EXPECT_THAT(lost.reason(), HasSubstr("SIGKILL"));
  EXPECT_THAT(lost.reason(), HasSubstr("about to be signalled"));
  EXPECT_EQ(steps(id, 1), range(1, 8));
  EXPECT_EQ(done.attempts.at(2).resume_step, 5);
  EXPECT_EQ(steps(id, 2), range(6, 12));
}

TEST_F(WorkerTest, ReportsACrashWithItsSignalAndLastLine) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "signal"}, {"number", SIGABRT}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  const auto outcome = *stage(id).attempts.at(1).outcome;
  EXPECT_EQ(outcome.failure_class(), "code");
  EXPECT_THAT(outcome.reason(), HasSubstr("SIGABRT"));
  EXPECT_THAT(outcome.reason(), HasSubstr("about to be signalled"));
  EXPECT_EQ(steps(id, 1), range(1, 3));
}

TEST_F(WorkerTest, GivesTheNextAttemptAFreshTrainerAfterACrash) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto crashed = store_.add_stage({{"steps", 2}, {"at", {{"2", {{"do", "exit"}, {"status", 7}}}}}});
  ASSERT_TRUE(store_.wait_state(crashed, "failed")) << daemon.log();
  EXPECT_THAT(stage(crashed).attempts.at(1).outcome->reason(), HasSubstr("status 7"));
  const auto fine = store_.add_stage({{"steps", 2}});
  EXPECT_TRUE(store_.wait_state(fine, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, ReplacesATrainerThatWentWhileIdle) {
  Daemon daemon(server_.address(), work());
  for (int i = 0; i < 2; ++i) {
    const auto id = store_.add_stage({{"steps", 2}, {"exit_after_done", true}});
    ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
    EXPECT_LE(stage(id).attempt, 2);
  }
}

TEST_F(WorkerTest, PassesOnWhatTheTrainerSaysOfItsFailure) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage(
      {{"steps", 9},
       {"at", {{"4", {{"do", "fail"}, {"class", "diverged"}, {"reason", "the loss is NaN at step 4"}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "diverged");
  EXPECT_EQ(stage(id).attempts.at(1).outcome->reason(), "the loss is NaN at step 4");
}

TEST_F(WorkerTest, SurvivesATrainerThatSendsGarbage) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "garbage"}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "code");
  const auto fine = store_.add_stage({{"steps", 2}});
  EXPECT_TRUE(store_.wait_state(fine, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, StopsAnAttemptAtItsLimitAndGoesOnFromItsCheckpoint) {
  Daemon daemon(server_.address(), work());
  // The first attempt waits at step 4 until it is told to stop; the second has nothing to wait for.
  const auto id = store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "await-wish"}, {"attempt", 1}}}}}}, {}, 1);
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  const FakeStage done = stage(id);
  const auto& late = *done.attempts.at(1).outcome;
  EXPECT_EQ(late.outcome(), "failed");
  EXPECT_EQ(late.failure_class(), "timeout");
  EXPECT_EQ(late.reason(), "the attempt reached its limit of 1 s (limits.stage_seconds) and saved a checkpoint");
  EXPECT_EQ(done.attempts.at(2).resume_step, 3);
  EXPECT_EQ(steps(id, 2), range(4, 9));
  EXPECT_THAT(done.attempts.at(1).log, HasSubstr("the limit of 1 s is reached: saving a checkpoint and stopping"));
}

TEST_F(WorkerTest, EndsATrainerThatDoesNotHeedItsLimit) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work(), {"kill_wait=200"});
  const auto id = store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "hang-hard"}}}}}}, {}, 1);
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "timeout");
  EXPECT_THAT(stage(id).attempts.at(1).outcome->reason(), HasSubstr("took too long to save a checkpoint"));
  const auto fine = store_.add_stage({{"steps", 2}});
  EXPECT_TRUE(store_.wait_state(fine, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, CountsTheTimeOfALostServerAgainstTheLimit) {
  store_.attempts_at_most = 1;
  const std::string held = gate("gate");
  Daemon daemon(server_.address(), work());
  const auto id = store_.add_stage(
      {{"steps", 9}, {"at", {{"4", {{"do", "gate"}, {"path", held}}}, {"5", {{"do", "await-wish"}}}}}}, {}, 1);
  // Granted is not yet begun: a grant that the stopped server took with it would leave nobody at the gate.
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 3; })) << daemon.log();
  server_.stop();
  open_gate(held);
  ASSERT_TRUE(daemon.wait_log("reached its limit")) << daemon.log();  // nobody is there to be told
  server_.start();
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "timeout");
}

TEST_F(WorkerTest, HasTheWholeLogStoredBeforeTheAttemptIsCompleted) {
  Daemon daemon(server_.address(), work());
  for (int i = 0; i < 5; ++i) {
    const auto id = store_.add_stage({{"steps", 3}, {"at", {{"3", {{"do", "print"}, {"text", "the last words"}}}}}});
    ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
    // At the very moment of completion, and not some time later.
    EXPECT_THAT(stage(id).attempts.at(1).log_at_completion, HasSubstr("the last words"));
    EXPECT_THAT(stage(id).attempts.at(1).log_at_completion, HasSubstr("] succeeded\n"));
  }
}

TEST_F(WorkerTest, EndsATrainerThatHangs) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work(), {"silence=300"});
  const auto id = store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "hang"}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "hung");
  EXPECT_EQ(steps(id, 1), range(1, 3));
}

TEST_F(WorkerTest, KillsAHungTrainerThatIgnoresSigterm) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work(), {"silence=300", "kill_wait=200"});
  const auto id = store_.add_stage({{"steps", 9}, {"at", {{"4", {{"do", "hang-hard"}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(stage(id).attempts.at(1).outcome->failure_class(), "hung");
  EXPECT_THAT(stage(id).attempts.at(1).outcome->reason(), HasSubstr("SIGKILL"));
}

TEST_F(WorkerTest, TakesASlotOfAGpuBackWhoseMemoryIsShort) {
  ::setenv("FAKE_TRAINER_GPUS", "1", 1);
  store_.attempts_at_most = 1;
  const std::string door = gate("door");
  Daemon daemon(server_.address(), work(), {"device=cuda", "slots=0", "per_gpu=2"});
  ::unsetenv("FAKE_TRAINER_GPUS");
  const auto neighbor = store_.add_stage({{"steps", 2}, {"at", {{"2", {{"do", "gate"}, {"path", door}}}}}});
  ASSERT_TRUE(store_.wait([&] { return !store_.stages.at(neighbor).attempts[1].points.empty(); })) << daemon.log();
  const auto large = store_.add_stage(
      {{"steps", 2}, {"at", {{"1", {{"do", "fail"}, {"class", "out-of-memory"}, {"reason", "2 GiB more"}}}}}});
  ASSERT_TRUE(store_.wait_state(large, "failed")) << daemon.log();
  EXPECT_EQ(stage(large).attempts.at(1).outcome->failure_class(), "preempted");
  EXPECT_THAT(stage(large).attempts.at(1).outcome->reason(), HasSubstr("beside another stage: 2 GiB more"));
  EXPECT_THAT(daemon.log(), HasSubstr("one of its slots takes no work"));
  open_gate(door);
  ASSERT_TRUE(store_.wait_state(neighbor, "succeeded")) << daemon.log();
  const auto later = store_.add_stage({{"steps", 2}});
  EXPECT_TRUE(store_.wait_state(later, "succeeded")) << "the other slot goes on: " << daemon.log();
}

TEST_F(WorkerTest, RunsWhatNeedsMoreThanThereIsLeftOneAfterAnother) {
  const std::string door = gate("door");
  Daemon daemon(server_.address(), work(), {"slots=2", "memory_bytes=1000"});  // of stages that nobody knows yet
  const auto first = store_.add_stage({{"steps", 2}, {"at", {{"2", {{"do", "gate"}, {"path", door}}}}}});
  ASSERT_TRUE(store_.wait([&] { return !store_.stages.at(first).attempts[1].points.empty(); })) << daemon.log();
  const auto second = store_.add_stage({{"steps", 2}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(second).attempts.contains(1); })) << daemon.log();
  const auto waits = [&] {
    const auto& phases = store_.stages.at(second).phases;
    return std::any_of(phases.begin(), phases.end(),
                       [](const std::string& phase) { return phase.starts_with("wait for memory: "); });
  };
  EXPECT_TRUE(store_.wait(waits)) << "people see why";
  open_gate(door);
  ASSERT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
  EXPECT_TRUE(store_.wait_state(second, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, LetsRunTogetherWhatTheServerSaysTakesLittle) {
  const std::string door = gate("door");
  store_.memory_bytes = 1000;
  Daemon daemon(server_.address(), work(), {"slots=2", "memory_bytes=2000000000"});  // less than an unknown one takes
  const auto first = store_.add_stage({{"steps", 2}, {"at", {{"2", {{"do", "gate"}, {"path", door}}}}}});
  const auto second = store_.add_stage({{"steps", 2}, {"peak_memory_bytes", 2000}});
  EXPECT_TRUE(store_.wait_state(second, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(second).attempts.at(1).outcome->peak_memory_bytes(), 2000) << "which tells the server more";
  open_gate(door);
  EXPECT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, BelievesTheSpecificationOverWhatItHasSeenOfMemory) {
  std::filesystem::create_directories(work());
  LoadMemory(work() / "loads").learn({{"kind", "train"}}, {{"peak_memory_bytes", 2'000'000'000}});
  const std::string door = gate("door");
  store_.memory_bytes = 1000, store_.memory_given = true;
  Daemon daemon(server_.address(), work(), {"slots=2", "memory_bytes=2000000000"});
  const auto first = store_.add_stage({{"steps", 2}, {"at", {{"2", {{"do", "gate"}, {"path", door}}}}}});
  const auto second = store_.add_stage({{"steps", 2}});
  EXPECT_TRUE(store_.wait_state(second, "succeeded")) << daemon.log();
  open_gate(door);
  EXPECT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
}

TEST_F(WorkerTest, TriesAStageAloneThatRanOutOfMemoryBesideAnother) {
  std::filesystem::create_directories(work());
  LoadMemory(work() / "loads").learn({{"kind", "train"}}, {{"peak_memory_bytes", 1000}});
  const std::string door = gate("door");
  Daemon daemon(server_.address(), work(), {"slots=2", "memory_bytes=2000"});
  const auto neighbor = store_.add_stage({{"steps", 2}, {"at", {{"2", {{"do", "gate"}, {"path", door}}}}}});
  ASSERT_TRUE(store_.wait([&] { return !store_.stages.at(neighbor).attempts[1].points.empty(); })) << daemon.log();
  const auto large = store_.add_stage(
      {{"steps", 2},
       {"at", {{"1", {{"do", "fail"}, {"attempt", 1}, {"class", "out-of-memory"}, {"reason", "2 GiB more"}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(large).attempts[1].outcome.has_value(); })) << daemon.log();
  open_gate(door);
  ASSERT_TRUE(store_.wait_state(neighbor, "succeeded")) << daemon.log();
  EXPECT_TRUE(store_.wait_state(large, "succeeded")) << daemon.log();
  EXPECT_EQ(stage(large).attempts.at(1).outcome->failure_class(), "preempted");
}

TEST_F(WorkerTest, OnceGivesUpWithoutAServer) {
  server_.stop();
  Daemon daemon(server_.address(), work(), {"once=1"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(daemon.log(), HasSubstr("no server answers at " + server_.address()));
}

TEST_F(WorkerTest, RefusalOfItsProtocolIsReadable) {
  Daemon daemon(server_.address(), work(), {"protocol=99"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(daemon.log(), HasSubstr("the worker speaks protocol 99, this server 3: update the worker"));
}

TEST_F(WorkerTest, RefusesAWorkFolderInUse) {
  Daemon daemon(server_.address(), work());
  ASSERT_TRUE(daemon.wait_log("registered as tester")) << daemon.log();
  Daemon second(server_.address(), work());
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.log(), HasSubstr("another worker uses the work folder"));
}

TEST_F(WorkerTest, NamesAMissingTrainer) {
  Daemon daemon(server_.address(), work(), {"trainer=/nowhere/locus-trainer"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(daemon.log(), HasSubstr("/nowhere/locus-trainer"));
}

TEST_F(WorkerTest, NamesADeviceItDoesNotHave) {
  Daemon daemon(server_.address(), work(), {"device=cuda"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(daemon.log(), HasSubstr("sees no GPU"));
}

TEST_F(WorkerTest, RefusesATrainerOfAnotherProtocol) {
  ::setenv("FAKE_TRAINER_PROTOCOL", "7", 1);
  Daemon daemon(server_.address(), work());
  ::unsetenv("FAKE_TRAINER_PROTOCOL");
  store_.add_stage({{"steps", 2}});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(daemon.log(), HasSubstr("speaks protocol 7"));
}

}  // namespace
}  // namespace locus

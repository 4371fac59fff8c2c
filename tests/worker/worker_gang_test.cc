// The daemon and attempts on several of its slots: a trainer for each, one outcome, which is told of who ended it.
#include <unistd.h>

#include "tests/worker/worker_fixture.h"

namespace locus {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTwoSlots = {"slots=2", "threads=1", "start_silence=60000", "silence=60000"};

class WorkerGang : public WorkerTest {
 protected:
  std::int64_t add(const Json& script, std::size_t devices = 2) {
    return store_.add_gang({{"kind", "train"}, {"script", script}}, devices);
  }
  v1::CompleteAttemptRequest outcome(std::int64_t id, std::int64_t attempt) {
    return stage(id).attempts.at(attempt).outcome.value_or(v1::CompleteAttemptRequest());
  }
};

TEST_F(WorkerGang, IsATrainerForEachSlotAndOneOutcome) {
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const auto id = add({{"steps", 10}, {"checkpoint_at", {5}}});
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(steps(id, 1), range(1, 10)) << "those of rank 0, once";
  EXPECT_EQ(outcome(id, 1).results_size(), 1);
  const Json gang = Json::parse(outcome(id, 1).environment_json()).at("gang");
  EXPECT_EQ(gang.at("world"), 2);
  EXPECT_EQ(gang.at("rank"), 0);
  EXPECT_EQ(gang.at("timeout_seconds"), 60) << "as long as the daemon bears a trainer that has made no step";
  EXPECT_EQ(gang.at("silence_seconds"), 60);
}

TEST_F(WorkerGang, SeesAGpuOfItsOwnInEachRank) {
  store_.attempts_at_most = 1;
  ::setenv("FAKE_TRAINER_GPUS", "2", 1);
  Daemon daemon(server_.address(), work(), {"slots=2", "device=cuda"});
  ::unsetenv("FAKE_TRAINER_GPUS");
  for (const int rank : {0, 1}) {
    const auto id =
        add({{"steps", 3},
             {"at", {{"2", {{"do", "tell-gpus"}, {"rank", rank}}}, {"3", {{"do", "hang"}, {"rank", 1 - rank}}}}}});
    ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
    EXPECT_THAT(outcome(id, 1).reason(), HasSubstr("sees GPU " + std::to_string(rank)));
  }
}

TEST_F(WorkerGang, LeavesWordsForItsRanks) {
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const auto asks = [](int rank, const Json& question) {
    return Json{{"do", "ask"}, {"rank", rank}, {"question", question}};
  };
  const auto id = add({{"steps", 3},
                       {"at",
                        {{"1", asks(0, {{"op", "wait"}, {"keys", {"a"}}})},
                         {"2", asks(1, {{"op", "set"}, {"key", "a"}, {"value", "2a"}})}}}});
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(Json::parse(outcome(id, 1).environment_json()).at("answered").at("values"), Json({"2a"}));
}

TEST_F(WorkerGang, IsClosedToARankOfAnOlderAttempt) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work(), kTwoSlots);
  for (const int rank : {0, 1}) {
    const Json stale = {
        {"do", "ask"}, {"rank", rank}, {"as", "1/0"}, {"question", {{"op", "set"}, {"key", "a"}, {"value", "2a"}}}};
    const auto id = add({{"steps", 3}, {"at", {{"2", stale}, {"3", {{"do", "hang"}, {"rank", 1 - rank}}}}}});
    ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
    EXPECT_THAT(outcome(id, 1).reason(), HasSubstr("and 1/0 is over"));
  }
}

TEST_F(WorkerGang, GivesAllItsSlotsBack) {
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const auto first = add({{"steps", 3}}), second = add({{"steps", 3}});
  ASSERT_TRUE(store_.wait_state(first, "succeeded")) << daemon.log();
  ASSERT_TRUE(store_.wait_state(second, "succeeded")) << daemon.log();
  // Both wait until the other is there, so that they run at one time.
  const std::string one = gate("one"), other = gate("other");
  const auto third = add({{"steps", 3}, {"at", {{"2", {{"do", "gate"}, {"path", one}}}}}}, 1);
  const auto fourth = add({{"steps", 3}, {"at", {{"2", {{"do", "gate"}, {"path", other}}}}}}, 1);
  const int held = ::open(one.c_str(), O_WRONLY);
  open_gate(other);
  ASSERT_TRUE(store_.wait_state(fourth, "succeeded")) << daemon.log();
  ::close(held);
  ASSERT_TRUE(store_.wait_state(third, "succeeded")) << daemon.log();
}

TEST_F(WorkerGang, EndsWithARankThatIsKilledAndGoesOnFromItsCheckpoint) {
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const std::string open = gate("gate");
  const auto id = add({{"steps", 10},
                       {"checkpoint_at", {5}},
                       {"at",
                        {{"7", {{"do", "hang"}, {"attempt", 1}, {"rank", 0}}},
                         {"6", {{"do", "gate"}, {"path", open}, {"attempt", 1}, {"rank", 1}}},
                         {"8", {{"do", "signal"}, {"number", SIGKILL}, {"attempt", 1}, {"rank", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 6; })) << daemon.log();
  open_gate(open);
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log();
  EXPECT_EQ(outcome(id, 1).failure_class(), "preempted");
  EXPECT_THAT(outcome(id, 1).reason(), HasSubstr("rank 1 of 2: the trainer was ended by SIGKILL from outside"));
  EXPECT_EQ(stage(id).attempts.at(2).resume_step, 5);
  EXPECT_EQ(steps(id, 2), range(6, 10));
}

// Rank 0 sees that another is gone before that one's end is known, and so does rank 1 of it.
TEST_F(WorkerGang, TellsWhatEndedOneAndNotThatTheOthersLostIt) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const auto lost = [](int rank) {
    return Json{{"do", "fail"}, {"class", "peer-lost"}, {"reason", "connection reset"}, {"rank", rank}};
  };
  const std::string first = gate("first"), second = gate("second");
  const auto of_peer =
      add({{"steps", 10},
           {"at",
            {{"2", lost(0)},
             {"1", {{"do", "gate"}, {"path", first}, {"rank", 1}}},
             {"3", {{"do", "fail"}, {"class", "data"}, {"reason", "a file is cut off"}, {"rank", 1}}}}}});
  open_gate(first);
  ASSERT_TRUE(store_.wait_state(of_peer, "failed")) << daemon.log();
  EXPECT_EQ(outcome(of_peer, 1).failure_class(), "data");
  EXPECT_EQ(outcome(of_peer, 1).reason(), "rank 1 of 2: a file is cut off");
  const auto of_leader = add({{"steps", 10},
                              {"at",
                               {{"2", lost(1)},
                                {"1", {{"do", "gate"}, {"path", second}, {"rank", 0}}},
                                {"3", {{"do", "signal"}, {"number", SIGSEGV}, {"rank", 0}}}}}});
  open_gate(second);
  ASSERT_TRUE(store_.wait_state(of_leader, "failed")) << daemon.log();
  EXPECT_EQ(outcome(of_leader, 1).failure_class(), "code");
  EXPECT_THAT(outcome(of_leader, 1).reason(), HasSubstr("SIGSEGV"));
}

TEST_F(WorkerGang, TakesARankForHungThatTheOthersLostAndThatLives) {
  store_.attempts_at_most = 1;
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const auto id =
      add({{"steps", 10},
           {"at",
            {{"2", {{"do", "hang-hard"}, {"rank", 1}}},
             {"3", {{"do", "fail"}, {"class", "peer-lost"}, {"reason", "waited for longer than 3 s"}, {"rank", 0}}}}}});
  ASSERT_TRUE(store_.wait_state(id, "failed")) << daemon.log();
  EXPECT_EQ(outcome(id, 1).failure_class(), "hung");
  EXPECT_THAT(outcome(id, 1).reason(), HasSubstr("silent toward the others for too long: waited for longer than 3 s"));
}

TEST_F(WorkerGang, IsStoppedThroughItsFirstRank) {
  Daemon daemon(server_.address(), work(), kTwoSlots);
  const auto id = add({{"steps", 10},
                       {"at",
                        {{"4", {{"do", "await-wish"}, {"attempt", 1}, {"rank", 0}}},
                         {"5", {{"do", "hang"}, {"attempt", 1}, {"rank", 1}}}}}});
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].points.size() == 3; })) << daemon.log();
  {
    std::lock_guard lock(store_.mutex);
    store_.stages.at(id).wish = v1::WISH_CHECKPOINT_AND_STOP;
  }
  ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].outcome.has_value(); })) << daemon.log();
  EXPECT_EQ(outcome(id, 1).outcome(), "stopped");
  ASSERT_TRUE(store_.wait_state(id, "succeeded")) << daemon.log() << "which the rank that hung does not delay";
}

#ifdef LOCUS_TRAINER
// With the real trainer, kept in as a worker keeps it in.
TEST_F(WorkerGang, TrainsAModelOnTwoSlots) {
  const std::filesystem::path data = "/usr/share/datasets";
  if (::access((data / "fashion-mnist").c_str(), R_OK) != 0) GTEST_SKIP() << "no Fashion-MNIST here";
  auto options = kTwoSlots;
  options.insert(options.end(),
                 {std::string("trainer=") + LOCUS_TRAINER, "isolate=auto", "data_root=" + data.string()});
  Daemon daemon(server_.address(), work(), options);
  const Json config = {
      {"kind", "train"},
      {"dataset", {{"id", "fashion-mnist"}}},
      {"task", {{"id", "classification"}}},
      {"model", {{"id", "vit"}, {"options", {{"dim", 16}, {"depth", 1}, {"heads", 2}, {"patch", 14}}}}},
      {"priors", {{{"id", "violin"}}}},
      {"recipe",
       {{"id", "supervised"}, {"options", {{"epochs", 1}, {"batch", 8}, {"limit", 64}, {"validation_images", 100}}}}},
      {"seed", 7}};
  std::map<std::size_t, double> losses;
  for (const std::size_t devices : {1, 2}) {
    const auto id = store_.add_gang(config, devices);
    ASSERT_TRUE(store_.wait([&] { return store_.stages.at(id).attempts[1].outcome.has_value(); })) << daemon.log();
    const v1::CompleteAttemptRequest end = outcome(id, 1);
    ASSERT_EQ(end.outcome(), "succeeded") << end.reason();
    EXPECT_EQ(end.outputs_size(), 1);
    EXPECT_EQ(Json::parse(end.environment_json()).value("world", 1u), devices);
    for (const auto& result : end.results()) {
      if (result.key().metric() == "loss") losses[devices] = result.value();
    }
  }
  EXPECT_NEAR(losses.at(2), losses.at(1), 1e-4 * losses.at(1));
}
#endif

}  // namespace
}  // namespace locus

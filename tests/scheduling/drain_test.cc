// Drains: workers that are given no more, and a server that gives nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

TEST(Drain, GivesTheWorkerNoMoreWorkAndLetsItFinish) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  const auto running = h.ask("s");
  ASSERT_TRUE(h.drain("w", Drain::kNoNewWork, "the disk is odd"));
  EXPECT_FALSE(h.ask("s"));
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kContinue});
  EXPECT_TRUE(h.succeed("s", *running));
  EXPECT_EQ(h.worker("w").state, WorkerState::kDraining);
  EXPECT_EQ(h.worker("w").reason, "the disk is odd");
  EXPECT_THAT(h.explain(h.train("b")), HasSubstr("1 is connected and draining"));
}

TEST(Drain, HasRunningWorkSavedAndStoppedWhenAskedTo) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto running = h.ask("s");
  h.drain("w", Drain::kStopWork);
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kCheckpointAndStop});
  h.checkpoint("s", *running, 40);
  h.complete("s", *running, AttemptState::kStopped);
  EXPECT_FALSE(h.ask("s"));
  h.join("v", "u");
  const auto elsewhere = h.ask("u");
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->resume_step, 40);
}

TEST(Drain, OutlivesRestartsOfWorkerAndServer) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.drain("w", Drain::kNoNewWork);
  h.join("w", "t");  // a new daemon
  EXPECT_FALSE(h.ask("t"));
  h.advance(kLease + 1s);  // silent: offline
  EXPECT_EQ(h.worker("w").state, WorkerState::kOffline);
  h.restart();
  h.join("w", "u");
  EXPECT_EQ(h.worker("w").state, WorkerState::kDraining);
  EXPECT_FALSE(h.ask("u"));
}

TEST(Drain, IsTakenBack) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.drain("w", Drain::kNoNewWork);
  const ReplyToken waiting = h.ask_and_wait("s", "r");
  EXPECT_EQ(h.answer(waiting), nullptr);
  EXPECT_TRUE(h.drain("w", Drain::kNone));
  EXPECT_TRUE(h.granted(waiting));
  EXPECT_EQ(h.worker("w").reason, "");
  EXPECT_EQ(h.events("worker-state").size(), 2u);
  EXPECT_TRUE(h.drain("w", Drain::kNone));  // again: nothing changes
  EXPECT_EQ(h.events("worker-state").size(), 2u);
}

struct LaterDrain : ::testing::Test {
  LaterDrain() {
    h.submit({.cells = {"a"}, .evaluate = false});
    h.join("w", "s");
  }
  bool drain(std::chrono::microseconds in, Drain to = Drain::kNoNewWork) {
    return h.drain("w", to, "new driver", h.now().wall + us(in));
  }
  void estimate(std::chrono::microseconds busy) { h.step(StagesEstimated{{{h.train("a").id, us(busy)}}}); }
  void pass(std::chrono::microseconds time) {
    for (std::chrono::microseconds passed{0}; passed < time; passed += 10s) {
      h.sync("s");
      h.advance(10s);
    }
  }

  Harness h;
};

TEST_F(LaterDrain, GivesTheWorkerWhatEndsBefore) {
  ASSERT_TRUE(drain(1h));
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive);
  EXPECT_EQ(h.scheduler().workers(h.now())[0].ends_in, us(1h));
  EXPECT_TRUE(h.scheduler().goes_by_estimates());
  estimate(1h);
  EXPECT_TRUE(h.ask("s"));
}

TEST_F(LaterDrain, GivesItNothingThatWouldEndLaterAndSaysSo) {
  drain(1h);
  estimate(2h);
  EXPECT_FALSE(h.ask("s"));
  EXPECT_THAT(h.explain(h.train("a")),
              HasSubstr("waits for a worker that stays: w is drained in 60 min and this takes about 2 h"));
  drain(3h);
  EXPECT_TRUE(h.ask("s")) << "put off";
}

TEST_F(LaterDrain, HoldsFromItsTimeOnWithoutAnybodyAsking) {
  drain(30s, Drain::kStopWork);
  const auto running = h.ask("s");
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kContinue});
  h.advance(20s);
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kContinue});
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive);
  h.advance(10s);
  EXPECT_EQ(h.worker("w").state, WorkerState::kDraining);
  EXPECT_EQ(h.worker("w").reason, "new driver");
  EXPECT_EQ(h.events("worker-state").size(), 2u) << "when it was asked for, and when it began";
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kCheckpointAndStop});
}

TEST_F(LaterDrain, OutlivesRestartsOfWorkerAndServer) {
  const Microseconds from = h.now().wall + us(1h);
  drain(1h);
  h.join("w", "t");
  estimate(2h);
  EXPECT_FALSE(h.ask("t"));
  h.restart();
  h.join("w", "u");
  EXPECT_EQ(h.worker("w").drain_from_us, from);
  estimate(2h);
  EXPECT_FALSE(h.ask("u"));
}

TEST_F(LaterDrain, WhoseTimeCameWhileNothingRanHoldsFromTheNextStartOn) {
  drain(1h);
  h.restart();
  h.set_wall(h.now().wall + us(2h));
  h.join("w", "t");
  EXPECT_FALSE(h.ask("t"));
  h.advance(kHeartbeat);  // not at once: the store may refuse it, and be turned to again
  EXPECT_EQ(h.worker("w").state, WorkerState::kDraining);
}

TEST_F(LaterDrain, IsTakenBackBeforeItsTime) {
  drain(30s);
  EXPECT_TRUE(h.drain("w", Drain::kNone));
  EXPECT_EQ(h.worker("w").drain_from_us, 0);
  pass(60s);
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive);
  EXPECT_TRUE(h.ask("s"));
}

TEST_F(LaterDrain, OfATimeThatIsPastHoldsAtOnce) {
  drain(-1s);
  EXPECT_EQ(h.worker("w").state, WorkerState::kDraining);
  EXPECT_FALSE(h.ask("s"));
}

TEST(Drain, OfAnUnknownWorkerIsRefused) {
  Harness h;
  EXPECT_FALSE(h.drain("nobody", Drain::kNoNewWork));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNotFound);
}

TEST(Intake, ClosedGrantsNothingAndSaysWhy) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.step(IntakeChanged{"its disk is almost full"});
  const ReplyToken waiting = h.ask_and_wait("s", "r");
  EXPECT_EQ(h.answer(waiting), nullptr);
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("starts nothing new: its disk is almost full"));
  h.step(IntakeChanged{""});
  EXPECT_TRUE(h.granted(waiting));
}

TEST(Explanation, TellsUntilWhenTheOnlyMatchingWorkerIsBusy) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .evaluate = false});
  h.join("w", "s");
  const auto running = h.ask("s");
  EXPECT_THAT(h.explain(h.train("b")),
              HasSubstr("the slot of w, the only worker that can run it, is busy; it is next"));
  EXPECT_EQ(h.scheduler().expected_after(running->stage_id, h.now()), std::nullopt);
  h.sync("s", {stated(*running, 10, 100)});
  h.advance(4s);
  h.sync("s", {stated(*running, 20, 100)});
  // 10 steps took 4 s, 80 are left.
  EXPECT_EQ(h.scheduler().expected_after(running->stage_id, h.now()), us(32s));
  EXPECT_EQ(h.scheduler().expected_after(h.train("b").id, h.now()), us(32s));
  EXPECT_THAT(h.explain(h.train("b")), HasSubstr("is busy until about 22:13 UTC; it is next"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("step 20 of 100, done at about 22:13 UTC"));
}

TEST(Forget, IsForOfflineWorkersAndUntilTheyComeBack) {
  Harness h;
  h.join("w", "s");
  EXPECT_FALSE(h.forget("w"));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
  EXPECT_FALSE(h.forget("nobody"));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNotFound);
  h.advance(kLease + 1s);
  EXPECT_TRUE(h.forget("w"));
  EXPECT_TRUE(h.forget("w")) << "saying so again is fine";
  EXPECT_TRUE(h.worker("w").forgotten);
  h.restart();
  EXPECT_TRUE(h.worker("w").forgotten);
  h.join("w", "s2");
  EXPECT_FALSE(h.worker("w").forgotten);
}

}  // namespace
}  // namespace locus::testing

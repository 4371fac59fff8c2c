// A server restart: everything not finished is there again, nothing is granted twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Restart, LetsARunningAttemptGoOn) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.restart();
  EXPECT_FALSE(h.sync("s", {stated(*grant)}));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNotFound);
  EXPECT_TRUE(h.join("w", "s", {stated(*grant)}));
  EXPECT_THAT(*h.sync("s", {stated(*grant)}), ElementsAre(LeaseWish::kContinue));
  EXPECT_TRUE(h.checkpoint("s", *grant, 10));
  EXPECT_TRUE(h.succeed("s", *grant));
  EXPECT_EQ(h.store().attempts_started().value(), 1);
}

TEST(Restart, GivesAFullGraceToWorkersNotHeardYet) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.ask("s");
  h.advance(kReattachGrace - 1s);
  h.restart();
  h.advance(kReattachGrace - 1s);
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  h.advance(1s);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
}

TEST(Restart, LosesAGrantItsWorkerDoesNotHold) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.ask("s");
  h.restart();
  h.join("w", "s");
  for (int i = 0; i < 7; ++i) {
    h.advance(5s);
    h.sync("s");
  }
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
}

TEST(Restart, WaitsOutABackOffAnew) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kCode, "boom");
  h.restart();
  h.join("w", "s");
  EXPECT_FALSE(h.ask("s"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("boom"));
  h.advance(kRetryFirst);
  EXPECT_EQ(h.ask("s")->attempt, 2);
}

TEST(Restart, KeepsBudgetsSpent) {
  Harness h;
  h.submit({.cells = {"a"}});
  for (int i = 1; i <= kFailuresPerStage; ++i) {
    h.join("w", "s");
    h.fail("s", *h.ask("s"), FailureClass::kCode);
    h.restart();
    h.advance(kRetryMost);
  }
  EXPECT_EQ(h.train("a").state, StageState::kFailed);
}

TEST(Restart, ResumesFromTheNewestCheckpoint) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.checkpoint("s", *h.ask("s"), 30);
  h.restart();
  h.join("w", "s2");
  h.advance(kRetryFirst);
  EXPECT_EQ(h.ask("s2")->resume_step, 30);
}

TEST(Restart, KeepsWaitingStagesBlockedUntilTheirSourceSucceeds) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.restart();
  h.join("w", "s", {stated(*grant)});
  h.succeed("s", *grant);
  EXPECT_EQ(h.ask("s")->kind, "evaluate");
}

TEST(Restart, KeepsPausedExperimentsPausedAndWantsShared) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  h.submit({.name = "second", .cells = {"a"}});
  h.set_state("first", ExperimentState::kPaused);
  h.set_state("second", ExperimentState::kCancelled);
  h.restart();
  h.join("w", "s");
  EXPECT_FALSE(h.ask("s"));
  h.set_state("first", ExperimentState::kActive);
  EXPECT_TRUE(h.ask("s"));
}

TEST(Restart, NumbersOnWhereItStopped) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  h.restart();
  h.submit({.name = "second", .cells = {"b"}});
  EXPECT_NE(h.train("a").id, h.train("b").id);
  EXPECT_NE(h.store().experiment("first")->id, h.store().experiment("second")->id);
  h.join("v", "v0");
  h.restart();
  EXPECT_TRUE(h.join("w", "w0"));
  EXPECT_EQ(h.store().workers().value().size(), 2u);
}

TEST(Restart, CountsASessionOtherThanTheStoredOneAsADaemonRestart) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.ask("s");
  h.restart();
  h.join("w", "s2");
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").faults, 1);
}

}  // namespace
}  // namespace locus::testing

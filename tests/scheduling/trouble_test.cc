// Trouble beyond one stage: experiments that fail as a whole, workers that fail everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

// Fails the next stage the worker is given.
bool fail_next(Harness& h, const std::string& session, FailureClass failure_class, const std::string& reason) {
  const auto grant = h.ask(session);
  return grant && h.fail(session, *grant, failure_class, reason);
}

const Matrix kThreeCells{.cells = {"a", "b", "c"}};

TEST(FirstCells, ThatAllFailAlikePauseTheirExperimentWithTheReason) {
  Harness h;
  h.submit(kThreeCells);
  h.join("w", "s");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
    ASSERT_TRUE(fail_next(h, "s", FailureClass::kCode, "no attribute 'q' at line " + std::to_string(i)));
  }
  const ExperimentRow row = h.store().experiment("matrix").value();
  EXPECT_EQ(row.state, ExperimentState::kPaused);
  EXPECT_EQ(row.reason,
            "paused: its first 3 stages, of 3 cells, all failed alike and none has succeeded: broke off with an "
            "error: no attribute 'q' at line 3");
  h.advance(1min);
  h.join("w", "s");
  EXPECT_FALSE(h.ask("s"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("all failed alike"));
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive) << "it was the work";
  ASSERT_TRUE(h.set_state("matrix", ExperimentState::kActive));
  EXPECT_EQ(h.store().experiment("matrix")->reason, "");
  EXPECT_TRUE(h.ask("s"));
}

TEST(FirstCells, ThatFailDifferentlyDoNot) {
  Harness h;
  h.submit(kThreeCells);
  h.join("w", "s");
  fail_next(h, "s", FailureClass::kCode, "one thing");
  fail_next(h, "s", FailureClass::kCode, "another");
  fail_next(h, "s", FailureClass::kHung, "a third");
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
}

TEST(FirstCells, ThatFailAlikeAfterASuccessDoNot) {
  Harness h;
  h.submit({.cells = {"none", "a", "b", "c"}});
  h.join("w", "s");
  h.succeed("s", *h.ask("s"));
  h.succeed("s", *h.ask("s"));  // its evaluation
  h.restart();                  // also when the success was before a restart
  h.join("w", "s");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(fail_next(h, "s", FailureClass::kCode, "broken"));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
}

TEST(FirstCells, OfOneCellAloneDoNotSpeakForTheOthers) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .seeds = {0, 1, 2}});
  h.join("w", "s");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(fail_next(h, "s", FailureClass::kCode, "broken"));
  }
  // Three seeds of one cell: the other cell may still work.
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
  ASSERT_TRUE(fail_next(h, "s", FailureClass::kCode, "broken"));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kPaused);
}

TEST(Worker, ThatFailsEverythingIsDrainedWhileOthersAreThere) {
  Harness h;
  h.submit(kThreeCells);
  h.join("bad", "s");
  h.join("good", "g");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(h.worker("bad").state, WorkerState::kActive);
    ASSERT_TRUE(fail_next(h, "s", FailureClass::kData, "no such folder"));
  }
  EXPECT_EQ(h.worker("bad").state, WorkerState::kDraining);
  EXPECT_THAT(h.worker("bad").reason, HasSubstr("3 stages in a row failed on it"));
  EXPECT_THAT(h.worker("bad").reason, HasSubstr("no such folder"));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive) << "the other worker decides";
  h.advance(kRetryFirst * 5);
  h.sync("g");
  EXPECT_TRUE(h.ask("g"));
}

TEST(Worker, IsClearedByASuccess) {
  Harness h;
  h.submit({.cells = {"none", "a", "b", "c"}});
  h.join("w", "s");
  h.join("other", "o");
  fail_next(h, "s", FailureClass::kCode, "1");
  fail_next(h, "s", FailureClass::kHung, "2");
  h.succeed("s", *h.ask("s"));
  fail_next(h, "s", FailureClass::kCode, "3");
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive);
}

TEST(Worker, ThatIsTheOnlyOneIsNotDrained) {
  Harness h;
  h.submit(kThreeCells);
  h.join("w", "s");
  fail_next(h, "s", FailureClass::kCode, "one");
  fail_next(h, "s", FailureClass::kHung, "two");
  fail_next(h, "s", FailureClass::kData, "three");
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive);
}

TEST(Worker, IsNotBlamedForWhatDiverges) {
  Harness h;
  h.submit(kThreeCells);
  h.join("w", "s");
  h.join("other", "o");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(fail_next(h, "s", FailureClass::kDiverged, std::string(1, 'a' + i)));
  EXPECT_EQ(h.worker("w").state, WorkerState::kActive);
}

TEST(Poison, ThatEndsTheDaemonIsHeldWhenTheDaemonSaysSoItself) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  for (int i = 1; i <= 3; ++i) {
    const auto grant = h.ask("s");
    ASSERT_TRUE(grant) << i;
    h.fail("s", *grant, FailureClass::kWorkerLost, "the worker daemon ended while the attempt ran");
    h.advance(1min);
    h.join("w", "s");
  }
  EXPECT_EQ(h.train("a").state, StageState::kHeld);
}

}  // namespace
}  // namespace locus::testing

// Reruns and deletions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

TEST(Rerun, QueuesWhatFailedWithItsFaultsForgivenAndItsCheckpointKept) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.checkpoint("s", *grant, 30);
  h.fail("s", *grant, FailureClass::kDiverged);
  ASSERT_EQ(h.evaluate("a").state, StageState::kCancelled);
  const auto rerun = h.rerun("matrix");
  ASSERT_TRUE(rerun);
  EXPECT_EQ(rerun->stages_to_run, 2);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").failures, 0);
  EXPECT_EQ(h.evaluate("a").state, StageState::kBlocked);
  const auto again = h.ask("s");
  EXPECT_EQ(again->attempt, 2);
  EXPECT_EQ(again->resume_step, 30);
  h.succeed("s", *again);
  EXPECT_EQ(h.evaluate("a").state, StageState::kQueued);
}

TEST(Rerun, OfNothingThatFailedChangesNothing) {
  Harness h;
  h.submit({.cells = {"a"}});
  const auto events = h.store().last_event().value();
  EXPECT_EQ(h.rerun("matrix")->stages_to_run, 0);
  EXPECT_EQ(h.store().last_event().value(), events);
}

TEST(Rerun, OfOneTrialOfACancelledExperimentRevivesThatOneAlone) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .evaluate = false});
  h.set_state("matrix", ExperimentState::kCancelled);
  ASSERT_TRUE(h.rerun("matrix", 1));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
  EXPECT_EQ(h.train("a").state, StageState::kCancelled);
  EXPECT_EQ(h.train("b").state, StageState::kQueued);
  h.restart();
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->stage_id, h.train("b").id);
  EXPECT_FALSE(h.ask("s"));
}

TEST(Rerun, UnderAnOldRevisionIsRefused) {
  Harness h;
  h.submit({.cells = {"a"}});
  StagesRerun stale = rerun_of("matrix", -1, h.store());
  h.submit({.cells = {"a", "b"}});
  stale.reply = 1000;
  h.step(stale);
  const auto* error = std::get_if<ReplyError>(h.answer(1000));
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has_reason(error->status, ErrorReason::kWrongState));
}

TEST(Deletion, IsRefusedWhileItsOwnStagesAreUnfinished) {
  Harness h;
  h.submit({.cells = {"a"}});
  EXPECT_FALSE(h.erase("matrix"));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
  EXPECT_TRUE(h.store().experiment("matrix").ok());
}

TEST(Deletion, ByForceEndsWhatRunsAndTellsItsWorker) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto running = h.ask("s");
  ASSERT_TRUE(h.erase("matrix", /*force=*/true));
  EXPECT_FALSE(h.store().experiment("matrix").ok());
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kCancel});
  h.purge();
  EXPECT_FALSE(h.store().stage(running->stage_id).ok());
  EXPECT_EQ(h.events("experiment-deleted").size(), 1u);
  EXPECT_FALSE(h.ask("s"));
}

TEST(Deletion, LetsGoOfManyStagesInPiecesAndPurgesThemAfterwards) {
  SchedulerPolicy policy;
  policy.cancellations_per_step = 2;
  Harness h(policy);
  h.submit({.cells = {"a", "b", "c"}});
  const StageId last = std::max({h.evaluate("a").id, h.evaluate("b").id, h.evaluate("c").id});
  h.join("w", "s");
  const auto running = h.ask("s");
  ASSERT_TRUE(h.erase("matrix", /*force=*/true));
  EXPECT_EQ(h.sync("s", {stated(*running)}), std::vector<LeaseWish>{LeaseWish::kCancel});
  EXPECT_EQ(h.store().stage(last)->state, StageState::kBlocked);
  h.step(PurgeDue{0, 100});
  EXPECT_TRUE(h.store().stage(last).ok()) << "nothing is purged that the scheduler still knows";
  h.purge();
  EXPECT_FALSE(h.store().stage(last).ok());
  EXPECT_FALSE(h.ask("s"));
}

TEST(Deletion, LeavesWhatAnotherExperimentWants) {
  Harness h;
  h.submit({.name = "one", .cells = {"a", "b"}});
  h.submit({.name = "two", .cells = {"b"}});
  ASSERT_TRUE(h.erase("one", /*force=*/true));
  h.purge();
  EXPECT_EQ(h.train("a").id, 0);
  EXPECT_EQ(h.train("b").state, StageState::kQueued);
  EXPECT_EQ(h.evaluate("b").state, StageState::kBlocked);
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->stage_id, h.train("b").id);
  EXPECT_FALSE(h.ask("s"));
}

TEST(Deletion, NeverGivesAnIdAgain) {
  Harness h;
  h.submit({.cells = {"a"}});
  const StageId before = h.evaluate("a").id;
  const ExperimentId experiment = h.store().experiment("matrix")->id;
  h.set_state("matrix", ExperimentState::kCancelled);
  ASSERT_TRUE(h.erase("matrix"));
  h.purge();
  h.restart();
  h.submit({.cells = {"a"}});
  EXPECT_GT(h.train("a").id, before);
  EXPECT_GT(h.store().experiment("matrix")->id, experiment);
}

TEST(Deletion, LeavesToANewSubmissionTheStagesThatItFindsStillThere) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  const StageId kept = h.train("b").id, gone = h.train("a").id;
  ASSERT_TRUE(h.erase("matrix", /*force=*/true));
  h.restart();
  ASSERT_TRUE(h.submit({.cells = {"b"}}));
  h.purge();
  EXPECT_FALSE(h.store().stage(gone).ok());
  EXPECT_EQ(h.train("b").id, kept);
  EXPECT_EQ(h.train("b").state, StageState::kQueued);
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->stage_id, kept);
}

}  // namespace
}  // namespace locus::testing

// Submitting: what is created, found, revived, dropped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

void run_everything(Harness& h) {
  h.join("w", "s");
  while (const auto grant = h.ask("s")) ASSERT_TRUE(h.succeed("s", *grant));
}

TEST(Submission, CreatesBlockedAndQueuedStages) {
  Harness h;
  const auto reply = h.submit({.cells = {"a", "b"}, .seeds = {0, 1}});
  EXPECT_EQ(reply->stages_done, 0);
  EXPECT_EQ(reply->stages_to_run, 8);
  EXPECT_EQ(h.train("b", 1).state, StageState::kQueued);
  EXPECT_EQ(h.evaluate("b", 1).state, StageState::kBlocked);
  EXPECT_EQ(h.evaluate("b", 1).inputs.at(0).from_stage, h.train("b", 1).id);
  EXPECT_EQ(h.events("experiment-created").size(), 1u);
}

TEST(Submission, StartsNothingTwice) {
  Harness h;
  h.submit({.cells = {"a"}});
  run_everything(h);
  const auto again = h.submit({.name = "other", .cells = {"a"}});
  EXPECT_EQ(again->stages_done, 2);
  EXPECT_EQ(again->stages_to_run, 0);
  EXPECT_FALSE(h.ask("s"));
  EXPECT_EQ(h.store().attempts_started().value(), 2);
}

TEST(Submission, RunsOnlyTheNewTrialsOfAnExtension) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .seeds = {0}});
  run_everything(h);
  const auto extended = h.submit({.cells = {"a", "b"}, .seeds = {0, 1}});
  EXPECT_EQ(extended->stages_done, 4);
  EXPECT_EQ(extended->stages_to_run, 4);
  run_everything(h);
  EXPECT_EQ(h.store().attempts_started().value(), 8);
  EXPECT_EQ(h.store().experiment("matrix")->revision, 2);
  EXPECT_EQ(h.events("experiment-extended").size(), 1u);
}

TEST(Submission, CancelsWhatAReplacementNoLongerWants) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.submit({.cells = {"b"}});
  EXPECT_EQ(h.train("a").state, StageState::kCancelled);
  EXPECT_THAT(h.train("a").reason, HasSubstr("no longer references it"));
  EXPECT_EQ(h.train("b").state, StageState::kQueued);
}

TEST(Submission, QueuesAnEvaluationWhoseTrainingIsDone) {
  Harness h;
  h.submit({.name = "trains", .cells = {"a"}, .evaluate = false});
  run_everything(h);
  h.submit({.name = "evaluates", .cells = {"a"}});
  EXPECT_EQ(h.evaluate("a").state, StageState::kQueued);
  const auto grant = h.ask("s");
  EXPECT_EQ(grant->inputs.at("checkpoint"), h.train("a").outputs.at(0).sha256);
}

TEST(Submission, RevivesWhatHadFailedWithItsDependents) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.checkpoint("s", *grant, 25);
  h.fail("s", *grant, FailureClass::kDiverged);
  h.submit({.cells = {"a"}});
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").failures, 0);
  EXPECT_EQ(h.train("a").failure_class, FailureClass::kNone);
  EXPECT_EQ(h.evaluate("a").state, StageState::kBlocked);
  const auto again = h.ask("s");
  EXPECT_EQ(again->attempt, 2);
  EXPECT_EQ(again->resume_step, 25);
  h.succeed("s", *again);
  EXPECT_EQ(h.ask("s")->kind, "evaluate");
}

TEST(Submission, RevivesACancelledExperiment) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.set_state("matrix", ExperimentState::kCancelled);
  const auto reply = h.submit({.cells = {"a", "b"}});
  EXPECT_EQ(reply->stages_to_run, 4);
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
  run_everything(h);
  EXPECT_EQ(h.evaluate("b").state, StageState::kSucceeded);
}

TEST(Submission, LetsTheNewestExperimentReviveForAnother) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kDiverged);
  h.submit({.name = "second", .cells = {"a"}});
  run_everything(h);
  EXPECT_EQ(h.evaluate("a").state, StageState::kSucceeded);
}

TEST(Submission, RevivesForEverybodyWhoHadWantedIt) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kDiverged);
  h.submit({.name = "second", .cells = {"a"}});
  h.set_state("second", ExperimentState::kCancelled);
  EXPECT_EQ(h.train("a").state, StageState::kQueued) << "the first experiment still references it";
  h.set_state("first", ExperimentState::kPaused);
  EXPECT_FALSE(h.ask("s"));
  h.restart();
  EXPECT_FALSE(h.ask("s")) << "nothing else holds after a restart";
  h.set_state("first", ExperimentState::kActive);
  h.join("w", "t");
  EXPECT_TRUE(h.ask("t"));
}

TEST(Submission, RevivesNothingForACancelledExperiment) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  h.set_state("first", ExperimentState::kCancelled);
  h.submit({.name = "second", .cells = {"a"}});
  h.set_state("second", ExperimentState::kCancelled);
  EXPECT_EQ(h.train("a").state, StageState::kCancelled);
}

TEST(Submission, KeepsAPausedExperimentPaused) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.set_state("matrix", ExperimentState::kPaused);
  h.submit({.cells = {"a", "b"}});
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kPaused);
  h.join("w", "s");
  EXPECT_FALSE(h.ask("s"));
}

TEST(Submission, IsRefusedWhenTheExperimentChangedMeanwhile) {
  Harness h;
  h.submit({.cells = {"a"}});
  ExperimentSubmitted stale = submission({.cells = {"a", "b"}}, h.store());
  h.submit({.cells = {"a", "c"}});
  stale.reply = 900;
  h.step(stale);
  const auto* error = std::get_if<ReplyError>(h.answer(900));
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(h.train("b").id, 0) << "the database is unchanged";
}

TEST(Submission, IsRefusedWhenAStageFinishedMeanwhile) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}, .evaluate = false});
  h.join("w", "s");
  const auto grant = h.ask("s");
  ExperimentSubmitted stale = submission({.name = "second", .cells = {"a"}}, h.store());
  h.succeed("s", *grant);
  stale.reply = 900;
  h.step(stale);
  const auto* error = std::get_if<ReplyError>(h.answer(900));
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has_reason(error->status, ErrorReason::kWrongState));
}

TEST(Submission, TakesTheNewerStateOfAStageThatIsStillLive) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  ExperimentSubmitted before = submission({.name = "second", .cells = {"a"}}, h.store());
  h.join("w", "s");
  const auto grant = h.ask("s");
  before.reply = 900;
  h.step(before);
  EXPECT_NE(std::get_if<ReplySubmitted>(h.answer(900)), nullptr);
  h.set_state("first", ExperimentState::kCancelled);
  EXPECT_TRUE(h.succeed("s", *grant));
  EXPECT_EQ(h.train("a").state, StageState::kSucceeded);
}

TEST(Submission, IsRefusedUnderATakenName) {
  Harness h;
  ExperimentSubmitted twin = submission({.cells = {"b"}}, h.store());
  h.submit({.cells = {"a"}});
  twin.reply = 900;
  h.step(twin);
  const auto* error = std::get_if<ReplyError>(h.answer(900));
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has_reason(error->status, ErrorReason::kExperimentExists));
}

TEST(Submission, IsRefusedWhenAStageNeedsItselfOrNothingKnown) {
  Harness h;
  ExperimentSubmitted loop = submission({.cells = {"a"}}, h.store());
  loop.stages[train_identity("a", 0)].inputs.push_back({"checkpoint", evaluate_identity("a", 0)});
  loop.reply = 900;
  h.step(loop);
  ExperimentSubmitted dangling = submission({.cells = {"a"}}, h.store());
  dangling.stages.erase(train_identity("a", 0));
  dangling.reply = 901;
  h.step(dangling);
  for (ReplyToken token : {900, 901}) {
    const auto* error = std::get_if<ReplyError>(h.answer(token));
    ASSERT_NE(error, nullptr);
    EXPECT_TRUE(has_reason(error->status, ErrorReason::kInvariantBroken));
  }
  EXPECT_TRUE(h.submit({.cells = {"a"}})) << "nothing of the refused ones remains";
}

}  // namespace
}  // namespace locus::testing

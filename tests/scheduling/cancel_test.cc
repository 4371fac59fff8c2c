// Cancelling, pausing, failing chains: what happens to the stages behind and beside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int in_state(Harness& h, const std::string& experiment, StageState state) {
  const auto counts = h.store().counts(h.store().experiment(experiment)->id).value();
  const auto found = counts.by_state.find(state);
  return found == counts.by_state.end() ? 0 : static_cast<int>(found->second);
}

SchedulerPolicy two_at_a_time() {
  SchedulerPolicy policy;
  policy.cancellations_per_step = 2;
  return policy;
}

const Matrix kEight{.cells = {"a", "b", "c", "d", "e", "f", "g", "h"}, .evaluate = false};

TEST(Cancel, EndsEveryStageOfTheExperiment) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  h.ask("s");
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  for (const char* cell : {"a", "b"}) {
    EXPECT_EQ(h.train(cell).state, StageState::kCancelled);
    EXPECT_EQ(h.evaluate(cell).state, StageState::kCancelled);
  }
  EXPECT_FALSE(h.ask("s"));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kCancelled);
}

TEST(Cancel, TellsTheWorkerAtItsNextHeartbeat) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.set_state("matrix", ExperimentState::kCancelled);
  EXPECT_THAT(*h.sync("s", {stated(*grant)}), ElementsAre(LeaseWish::kCancel));
  EXPECT_EQ(h.store().attempts(grant->stage_id).value().at(0).state, AttemptState::kCancelled);
}

TEST(Cancel, IgnoresALateOutcome) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.set_state("matrix", ExperimentState::kCancelled);
  EXPECT_TRUE(h.succeed("s", *grant));
  EXPECT_EQ(h.train("a").state, StageState::kCancelled);
  EXPECT_TRUE(h.store().stage_results(grant->stage_id)->empty());
}

TEST(Cancel, LeavesWhatAnotherLiveExperimentWants) {
  Harness h;
  h.submit({.name = "first", .cells = {"a", "b"}});
  h.submit({.name = "second", .cells = {"b", "c"}});
  EXPECT_TRUE(h.set_state("first", ExperimentState::kCancelled));
  EXPECT_EQ(h.train("a").state, StageState::kCancelled);
  EXPECT_EQ(h.train("b").state, StageState::kQueued);
  EXPECT_EQ(h.evaluate("b").state, StageState::kBlocked);
  EXPECT_TRUE(h.set_state("second", ExperimentState::kCancelled));
  EXPECT_EQ(h.train("b").state, StageState::kCancelled);
}

TEST(Cancel, LeavesAnExperimentAloneOfWhichEverythingHasEnded) {
  Harness h;
  h.submit({.cells = {"a"}, .evaluate = false});
  h.join("w", "s");
  h.succeed("s", *h.ask("s"));
  for (const ExperimentState to : {ExperimentState::kCancelled, ExperimentState::kPaused}) {
    EXPECT_FALSE(h.set_state("matrix", to));
    EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
    EXPECT_THAT(std::string(h.last_error().message()), HasSubstr("every stage of experiment matrix has ended"));
    EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
  }
}

TEST(Pause, OfWhatHasEndedSinceIsTakenBack) {
  Harness h;
  h.submit({.cells = {"a"}, .evaluate = false});
  h.join("w", "s");
  const auto grant = h.ask("s");
  ASSERT_TRUE(h.set_state("matrix", ExperimentState::kPaused));
  h.succeed("s", *grant);
  EXPECT_FALSE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kActive));
}

TEST(Cancel, IsIdempotent) {
  Harness h;
  h.submit({});
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_FALSE(h.set_state("matrix", ExperimentState::kActive));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
  EXPECT_THAT(std::string(h.last_error().message()), HasSubstr("submit it again"));
}

TEST(Cancel, NamesTheExperimentInItsEvents) {
  Harness h;
  h.submit({.cells = {"a"}, .evaluate = false});
  h.set_state("matrix", ExperimentState::kCancelled);
  const auto events = h.events("stage-state");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].json, HasSubstr(R"("experiments":["matrix"])"));
  EXPECT_THAT(events[0].json, HasSubstr(R"("state":"cancelled")"));
}

TEST(Cancel, LetsGoOfManyStagesInPiecesAndGrantsNoneMeanwhile) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.join("w", "s");
  const auto running = h.ask("s");
  ASSERT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kCancelled);
  EXPECT_EQ(h.store().stage(running->stage_id)->state, StageState::kCancelled) << "what runs goes first";
  EXPECT_EQ(in_state(h, "matrix", StageState::kQueued), 5);
  EXPECT_EQ(h.explain(h.train("h")), "experiment matrix was cancelled, so it is about to be cancelled");
  EXPECT_FALSE(h.ask("s"));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_FALSE(h.set_state("matrix", ExperimentState::kActive));
  h.step(Tick{});
  EXPECT_EQ(in_state(h, "matrix", StageState::kQueued), 3);
  h.advance(1us);
  EXPECT_EQ(in_state(h, "matrix", StageState::kCancelled), 8);
  EXPECT_EQ(h.train("h").reason, "experiment matrix was cancelled");
  for (const EventRow& event : h.events("stage-state")) {
    EXPECT_THAT(event.json, HasSubstr(R"("experiments":["matrix"])"));
  }
}

TEST(Cancel, GoesOnAfterARestart) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.set_state("matrix", ExperimentState::kCancelled);
  h.restart();
  EXPECT_EQ(in_state(h, "matrix", StageState::kQueued), 6);
  h.join("w", "s");
  EXPECT_FALSE(h.ask("s"));
  EXPECT_EQ(h.explain(h.train("h")), "no experiment references it any more, so it is about to be cancelled");
  h.advance(10s);
  EXPECT_EQ(in_state(h, "matrix", StageState::kCancelled), 8);
}

TEST(Cancel, AsksARefusingStoreAgainAfterAWhileOnly) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.set_state("matrix", ExperimentState::kCancelled);
  EXPECT_EQ(h.scheduler().next_wake(), h.now().steady);
  h.restart();  // as the owner of a scheduler does whose store refused
  EXPECT_EQ(h.scheduler().next_wake(), h.now().steady + SchedulerPolicy{}.heartbeat);
  h.step(Tick{});
  EXPECT_EQ(in_state(h, "matrix", StageState::kQueued), 6);
}

TEST(Cancel, LeavesWhatAnotherExperimentTakesUpBeforeItsTurn) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.set_state("matrix", ExperimentState::kCancelled);
  ASSERT_TRUE(h.submit({.name = "other", .cells = {"c"}, .evaluate = false}));
  h.advance(1us);
  EXPECT_EQ(h.train("d").state, StageState::kCancelled);
  EXPECT_EQ(h.train("c").state, StageState::kQueued);
  h.join("w", "s");
  const auto granted = h.ask("s");
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->stage_id, h.train("c").id);
}

TEST(Cancel, IsTakenBackByTheSameSubmissionBeforeItsEnd) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.set_state("matrix", ExperimentState::kCancelled);
  ASSERT_TRUE(h.submit(kEight));
  h.advance(1us);
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
  EXPECT_EQ(in_state(h, "matrix", StageState::kQueued), 8);
}

TEST(Cancel, OfTheRestIsCompleteWhenOneTrialIsRunAgain) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.set_state("matrix", ExperimentState::kCancelled);
  EXPECT_FALSE(h.rerun("matrix", 0));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(in_state(h, "matrix", StageState::kCancelled), 8) << "so that the next look-up finds them so";
  ASSERT_TRUE(h.rerun("matrix", 0));
  h.restart();
  h.advance(10s);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(in_state(h, "matrix", StageState::kCancelled), 7);
}

TEST(Cancel, IsFollowedByADeletionBeforeItsEnd) {
  Harness h(two_at_a_time());
  h.submit(kEight);
  h.set_state("matrix", ExperimentState::kCancelled);
  ASSERT_TRUE(h.erase("matrix"));
  h.purge();
  EXPECT_EQ(h.train("h").id, 0);
  EXPECT_FALSE(h.scheduler().next_wake());
}

TEST(Dependents, AreCancelledWithTheStageTheyNeed) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kDiverged, "the loss is NaN");
  EXPECT_EQ(h.evaluate("a").state, StageState::kCancelled);
  EXPECT_THAT(h.evaluate("a").reason, HasSubstr("(train), which it needs, is failed"));
}

TEST(Dependents, AreQueuedWithTheArtifactWhenTheStageSucceeds) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  EXPECT_EQ(h.evaluate("a").state, StageState::kBlocked);
  EXPECT_THAT(h.explain(h.evaluate("a")), HasSubstr("waits for the checkpoint of stage"));
  h.succeed("s", *h.ask("s"));
  EXPECT_EQ(h.evaluate("a").state, StageState::kQueued);
  EXPECT_EQ(h.evaluate("a").inputs.at(0).artifact_sha256, h.train("a").outputs.at(0).sha256);
}

TEST(Dependents, AreCancelledWhenTheOutputTheyNeedWasNotMade) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.complete("s", *h.ask("s"), AttemptState::kSucceeded);
  EXPECT_EQ(h.train("a").state, StageState::kSucceeded);
  EXPECT_EQ(h.evaluate("a").state, StageState::kCancelled);
  EXPECT_THAT(h.evaluate("a").reason, HasSubstr("without the output 'checkpoint'"));
}

TEST(Pause, LetsRunningStagesGoOn) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.set_state("matrix", ExperimentState::kPaused);
  EXPECT_THAT(*h.sync("s", {stated(*grant)}), ElementsAre(LeaseWish::kContinue));
  EXPECT_TRUE(h.succeed("s", *grant));
  EXPECT_FALSE(h.ask("s"));
  h.set_state("matrix", ExperimentState::kActive);
  EXPECT_EQ(h.ask("s")->kind, "evaluate");
}

TEST(Pause, IsIdempotentAndAnnouncedOnce) {
  Harness h;
  h.submit({});
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kPaused));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kPaused));
  EXPECT_EQ(h.events("experiment-state").size(), 1u);
}

}  // namespace
}  // namespace locus::testing

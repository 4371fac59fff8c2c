// Stop points of stages, and what parks at them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Wants = std::map<std::int64_t, std::int64_t>;

// A worker "w" under session "s", and the search's first decision.
struct Search {
  explicit Search(const Wants& wants, Matrix searched = kSearched) : matrix(std::move(searched)) {
    h.submit(matrix);
    h.join("w", "s");
    EXPECT_TRUE(h.decide(matrix, wants)) << h.last_error();
  }

  Matrix matrix;
  Harness h;
};

TEST(StopPoint, IsGrantedAndStoredAndSaidAtEveryHeartbeat) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->until_step, 30);
  EXPECT_EQ(x.h.store().attempts(grant->stage_id)->back().until_step, 30);
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), ElementsAre(Pair(grant->stage_id, 30)));
  x.h.decide(x.matrix, {{0, 90}});
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), ElementsAre(Pair(grant->stage_id, 90)));
  x.h.decide(x.matrix, {{0, kNoFurther}});
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), ElementsAre(Pair(grant->stage_id, kNoFurther)));
  x.h.decide(x.matrix, {{0, kToTheEnd}});
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), IsEmpty());
}

TEST(StopPoint, IsTheLargestThatAnyLiveLinkWants) {
  Search x(Wants{{0, 30}});
  const Matrix other{.name = "other", .cells = {"a"}, .searched = true};
  x.h.submit(other);
  x.h.decide(other, {{0, 60}});
  const auto grant = x.h.ask("s");
  EXPECT_EQ(grant->until_step, 60);
  x.h.set_state("other", ExperimentState::kCancelled);
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), ElementsAre(Pair(grant->stage_id, 30)));
}

TEST(StopPoint, IsNoneWhileAnExperimentWithoutASearchWantsTheStage) {
  Search x(Wants{{0, 30}});
  x.h.submit({.name = "plain", .cells = {"a"}});
  const auto grant = x.h.ask("s");
  EXPECT_EQ(grant->until_step, kToTheEnd);
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), IsEmpty());
}

TEST(StopPoint, OutlivesARestartOfTheServer) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  x.h.restart();
  x.h.join("w", "s", {stated(*grant)});
  EXPECT_THAT(x.h.stop_points("s", {stated(*grant)}), ElementsAre(Pair(grant->stage_id, 30)));
}

TEST(StopPoint, IsExplainedOfWhatRuns) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  EXPECT_THAT(x.h.explain(x.h.train("a")), HasSubstr("parks at step 30"));
  x.h.decide(x.matrix, {{0, kNoFurther}});
  EXPECT_THAT(x.h.explain(x.h.train("a")), HasSubstr("parks at its next validation"));
}

TEST(Parking, AtTheStopPointEndsTheStageForNow) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  ASSERT_TRUE(x.h.park("s", *grant, 30)) << x.h.last_error();
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
  EXPECT_EQ(x.h.store().attempts(grant->stage_id)->back().state, AttemptState::kParked);
  EXPECT_FALSE(x.h.scheduler().stage_state(grant->stage_id));
  EXPECT_FALSE(x.h.ask("s"));
  EXPECT_TRUE(x.h.complete("s", *grant, AttemptState::kParked)) << "said again";
}

TEST(Parking, PastTheStopPointEndsTheStageToo) {
  Search x(Wants{{0, 30}});
  ASSERT_TRUE(x.h.park("s", *x.h.ask("s"), 40));
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
}

// S2 of the faults of searches.
TEST(Parking, BelowAStopPointThatWasRaisedMeanwhileGoesOnAtOnceFromThere) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  x.h.decide(x.matrix, {{0, 90}});
  ASSERT_TRUE(x.h.park("s", *grant, 30));
  EXPECT_EQ(x.h.train("a").state, StageState::kQueued);
  const auto again = x.h.ask("s");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->resume_step, 30);
  EXPECT_EQ(again->until_step, 90);
}

TEST(Parking, WithoutACheckpointThereIsAFailure) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  x.h.checkpoint("s", *grant, 20);
  AttemptCompleted event;
  event.session = "s";
  event.stage_id = grant->stage_id;
  event.attempt = grant->attempt;
  event.outcome = AttemptState::kParked;
  event.step = 30;
  x.h.step(event);
  EXPECT_EQ(x.h.store().attempts(grant->stage_id)->back().state, AttemptState::kFailed);
  EXPECT_EQ(x.h.train("a").failures, 1);
}

TEST(Parking, CountsAsASuccessOfTheWork) {
  SchedulerPolicy policy;
  policy.strikes = 1;
  Harness h(policy);
  h.submit(kSearched);
  h.join("w", "s");
  h.decide(kSearched, {{0, 30}, {1, 30}});
  ASSERT_TRUE(h.park("s", *h.ask("s"), 30));
  h.fail("s", *h.ask("s"), FailureClass::kDiverged);
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive) << "it has shown that it works";
}

TEST(Parking, GoesOnFromItsCheckpointWhenADecisionWantsMore) {
  Search x(Wants{{0, 30}});
  x.h.park("s", *x.h.ask("s"), 30);
  ASSERT_TRUE(x.h.decide(x.matrix, {{0, 90}})) << x.h.last_error();
  EXPECT_EQ(x.h.train("a").state, StageState::kQueued);
  EXPECT_THAT(x.h.explain(x.h.train("a")), HasSubstr("goes on from step 30 to step 90"));
  const auto grant = x.h.ask("s");
  EXPECT_EQ(grant->attempt, 2);
  EXPECT_EQ(grant->resume_step, 30);
  EXPECT_EQ(grant->until_step, 90);
}

TEST(Parking, StaysWhereADecisionWantsNoMoreThanWasDone) {
  Search x(Wants{{0, 30}});
  x.h.park("s", *x.h.ask("s"), 40);
  for (const std::int64_t until : {35, 40, -1}) {
    ASSERT_TRUE(x.h.decide(x.matrix, {{0, until}}));
    EXPECT_EQ(x.h.train("a").state, StageState::kParked);
  }
}

TEST(Parking, IsOverWhenAnotherExperimentIsSubmittedThatWantsTheStage) {
  Search x(Wants{{0, 30}});
  x.h.park("s", *x.h.ask("s"), 30);
  ASSERT_TRUE(x.h.submit({.name = "plain", .cells = {"a"}}));
  const auto grant = x.h.ask("s");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->resume_step, 30);
  EXPECT_EQ(grant->until_step, kToTheEnd);
}

TEST(Parking, OutlivesTheCancellationOfItsExperiment) {
  Search x(Wants{{0, 30}, {1, 30}});
  x.h.park("s", *x.h.ask("s"), 30);
  ASSERT_TRUE(x.h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
  EXPECT_EQ(x.h.train("b").state, StageState::kCancelled);
}

// S10.
TEST(Parking, WhoseCheckpointIsGoneBeginsAfreshAndSaysSo) {
  Search x(Wants{{0, 30}});
  x.h.park("s", *x.h.ask("s"), 30);
  SearchDecided event = decided(x.matrix, {{0, 90}}, x.h.store());
  event.stages.at(train_identity("a", 0)).resume.reset();
  ASSERT_TRUE(x.h.decide(event));
  EXPECT_THAT(x.h.explain(x.h.train("a")), HasSubstr("checkpoint at which it had parked is gone"));
  const auto grant = x.h.ask("s");
  EXPECT_EQ(grant->resume_step, 0);
  EXPECT_EQ(grant->until_step, 90);
}

TEST(Parking, KeepsWhatNeedsTheStageBlockedUntilItGoesOnAndSucceeds) {
  for (const bool restarted : {false, true}) {
    Search x(Wants{{0, kToTheEnd}});
    auto grant = x.h.ask("s");
    SearchDecided lowered = decided(x.matrix, {{0, 30}}, x.h.store());
    std::erase_if(lowered.links, [](const auto& link) { return link.role == "evaluate"; });
    x.h.decide(lowered);
    x.h.park("s", *grant, 30);
    EXPECT_EQ(x.h.evaluate("a").state, StageState::kBlocked);
    if (restarted) {
      x.h.restart();
      x.h.join("w", "s");
    }
    x.h.decide(x.matrix, {{0, kToTheEnd}});
    grant = x.h.ask("s");
    ASSERT_TRUE(grant);
    x.h.succeed("s", *grant);
    EXPECT_EQ(x.h.evaluate("a").state, StageState::kQueued) << restarted;
  }
}

TEST(Withdrawal, OfTheLastWantParksWhatIsQueuedAndCancelsWhatIsBlocked) {
  Search x(Wants{{0, kToTheEnd}});
  ASSERT_EQ(x.h.evaluate("a").state, StageState::kBlocked);
  ASSERT_TRUE(x.h.decide(x.matrix, {{0, kNoFurther}}));
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
  EXPECT_EQ(x.h.evaluate("a").state, StageState::kCancelled);
  EXPECT_FALSE(x.h.ask("s"));
  ASSERT_TRUE(x.h.decide(x.matrix, {{0, kToTheEnd}})) << "a person overrules it";
  EXPECT_EQ(x.h.train("a").state, StageState::kQueued);
  EXPECT_EQ(x.h.evaluate("a").state, StageState::kBlocked);
}

TEST(Withdrawal, LeavesWhatRunsToItsNextValidation) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  x.h.decide(x.matrix, {{0, kNoFurther}});
  EXPECT_EQ(x.h.sync("s", {stated(*grant)}), std::vector<LeaseWish>{LeaseWish::kContinue});
  ASSERT_TRUE(x.h.park("s", *grant, 10));
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
}

TEST(Withdrawal, LetsAnAttemptThatIsLostLeaveItsStageParked) {
  Search x(Wants{{0, 30}});
  const auto grant = x.h.ask("s");
  x.h.checkpoint("s", *grant, 20);
  x.h.decide(x.matrix, {{0, kNoFurther}});
  x.h.complete("s", *grant, AttemptState::kStopped);
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
}

TEST(Withdrawal, HoldsNothingThatAnotherExperimentWants) {
  Search x(Wants{{0, 30}});
  x.h.submit({.name = "plain", .cells = {"a"}});
  x.h.decide(x.matrix, {{0, kNoFurther}});
  EXPECT_EQ(x.h.train("a").state, StageState::kQueued);
  EXPECT_EQ(x.h.ask("s")->until_step, kToTheEnd);
}

// S3: what is cancelled lowers the stop point for what waits, and never below what another one wants.
TEST(Cancellation, OfTheExperimentThatWantsMostLeavesTheOthersStopPoint) {
  Search x(Wants{{0, 30}});
  const Matrix other{.name = "other", .cells = {"a"}, .searched = true};
  x.h.submit(other);
  x.h.decide(other, {{0, 90}});
  const auto grant = x.h.ask("s");
  x.h.checkpoint("s", *grant, 50);
  x.h.complete("s", *grant, AttemptState::kStopped);
  ASSERT_EQ(x.h.train("a").state, StageState::kQueued);
  x.h.set_state("other", ExperimentState::kCancelled);
  EXPECT_EQ(x.h.train("a").state, StageState::kParked) << "50 steps are more than the 30 that are wanted";
  EXPECT_EQ(x.h.store().checkpoints(grant->stage_id)->back().step, 50) << "and none of them is lost";
}

TEST(Cancellation, OfTheExperimentThatHadAStageGoOnParksItAgain) {
  Search x(Wants{{0, 30}});
  x.h.park("s", *x.h.ask("s"), 30);
  const Matrix other{.name = "other", .cells = {"a"}, .searched = true};
  x.h.submit(other);
  x.h.decide(other, {{0, 90}});
  ASSERT_EQ(x.h.train("a").state, StageState::kQueued);
  x.h.set_state("other", ExperimentState::kCancelled);
  EXPECT_EQ(x.h.train("a").state, StageState::kParked);
}

TEST(GrantOrder, PutsWhatASearchWantsToGoFurtherFirst) {
  Search x(Wants{{0, 30}, {1, 90}});
  EXPECT_EQ(x.h.ask("s")->stage_id, x.h.train("b").id);
  EXPECT_EQ(x.h.ask("s", {1}).has_value(), true);
  Search y(Wants{{0, 30}, {1, kToTheEnd}});
  EXPECT_EQ(y.h.ask("s")->stage_id, y.h.train("b").id);
}

TEST(Pause, KeepsAStageFromGoingBeyondWhatActiveExperimentsWant) {
  Search x(Wants{{0, 30}});
  x.h.park("s", *x.h.ask("s"), 30);
  const Matrix other{.name = "other", .cells = {"a"}, .searched = true};
  x.h.submit(other);
  x.h.set_state("other", ExperimentState::kPaused);
  x.h.decide(other, {{0, 90}});
  EXPECT_EQ(x.h.train("a").state, StageState::kQueued);
  EXPECT_FALSE(x.h.ask("s"));
  x.h.set_state("other", ExperimentState::kActive);
  EXPECT_EQ(x.h.ask("s")->until_step, 90);
}

}  // namespace
}  // namespace locus::testing

// Experiments whose search runs: what its decisions write, when they are refused, and what people may do meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

struct Searched : ::testing::Test {
  Searched() { EXPECT_TRUE(h.submit(kSearched)); }
  ExperimentId id() { return h.store().experiment("matrix").value().id; }
  std::int64_t decided_so_far() { return h.store().search(id()).value().decided; }
  Harness h;
};

TEST_F(Searched, BeginsWithItsSubmissionAndHasNoStages) {
  EXPECT_EQ(decided_so_far(), 1);
  EXPECT_EQ(h.store().trials(id(), -1, 100)->size(), 2u);
  EXPECT_EQ(h.train("a").id, 0);
}

TEST_F(Searched, LinksAppendsAndAnnouncesInOneDecision) {
  const std::int64_t revision = h.store().experiment("matrix")->revision;
  ASSERT_TRUE(h.decide(kSearched, {{0, 30}, {1, kToTheEnd}}));
  EXPECT_EQ(decided_so_far(), 2);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.evaluate("a").id, 0);
  EXPECT_EQ(h.evaluate("b").state, StageState::kBlocked);
  EXPECT_EQ(h.store().trials(id(), -1, 100)->front().stages.front().link.until_step, 30);
  EXPECT_EQ(h.store().experiment("matrix")->revision, revision) << "a revision is a person's doing";
  EXPECT_THAT(h.events("search-decided").back().json, HasSubstr("\"decided\":2"));
}

TEST_F(Searched, IsRefusedWhenTheLogHasGrown) {
  const SearchDecided late = decided(kSearched, {{0, 30}}, h.store());
  ASSERT_TRUE(h.decide(kSearched, {{1, 30}}));
  EXPECT_FALSE(h.decide(late));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
  EXPECT_EQ(h.train("a").id, 0) << "nothing half done";
}

TEST_F(Searched, IsRefusedWhenTheExperimentWasExtended) {
  const SearchDecided late = decided(kSearched, {{0, 30}}, h.store());
  ASSERT_TRUE(h.submit({.cells = {"a", "b", "c"}, .searched = true}));
  EXPECT_FALSE(h.decide(late));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kAborted);
}

TEST_F(Searched, IsRefusedWhenAStageEndedSinceTheLookUp) {
  h.decide(kSearched, {{0, 30}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  SearchDecided late = decided(kSearched, {{0, 90}}, h.store());
  h.fail("s", *grant, FailureClass::kDiverged);
  EXPECT_FALSE(h.decide(late));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kAborted);
}

TEST_F(Searched, OfACancelledExperimentLinksNothing) {
  SearchDecided late = decided(kSearched, {{0, 30}}, h.store());
  ASSERT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_FALSE(h.decide(late));
  late.links.clear();
  late.stages.clear();
  late.trials.clear();
  EXPECT_TRUE(h.decide(late)) << h.last_error();
  EXPECT_EQ(decided_so_far(), 2);
}

TEST_F(Searched, RevivesWhatFailedOnlyWhereItIsWantedFurther) {
  h.decide(kSearched, {{0, 30}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kDiverged);
  for (const std::int64_t until : {30, 10, -1}) {
    ASSERT_TRUE(h.decide(kSearched, {{0, until}}));
    EXPECT_EQ(h.train("a").state, StageState::kFailed);
  }
  ASSERT_TRUE(h.decide(kSearched, {{0, 90}}));
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").failures, 0);
}

TEST_F(Searched, RevivesWhatFailedForAnotherExperimentBefore) {
  const Matrix other{.name = "other", .cells = {"a"}, .searched = true};
  h.decide(kSearched, {{0, 30}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kDiverged);
  h.submit(other);
  ASSERT_TRUE(h.decide(other, {{0, 30}}));
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
}

TEST_F(Searched, CanBePausedAndCancelledWhileNoStageIsThere) {
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kPaused));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kActive));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kCancelled));
}

TEST_F(Searched, ThatHasEndedWithEveryStageIsNotCancelled) {
  SearchDecided last = decided(kSearched, {}, h.store());
  last.decisions.state = SearchState::kEnded;
  last.decisions.reason = "every rung is decided";
  ASSERT_TRUE(h.decide(last));
  EXPECT_FALSE(h.set_state("matrix", ExperimentState::kCancelled));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
}

TEST_F(Searched, IsDeletedOnlyByForceWhileItsSearchRuns) {
  EXPECT_FALSE(h.erase("matrix"));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWrongState);
  EXPECT_TRUE(h.erase("matrix", /*force=*/true));
}

TEST_F(Searched, BecomesActiveAgainByARerunThatFindsNothingToQueue) {
  h.decide(kSearched, {{0, 30}});
  h.join("w", "s");
  h.park("s", *h.ask("s"), 30);
  h.set_state("matrix", ExperimentState::kCancelled);
  ASSERT_TRUE(h.rerun("matrix"));
  EXPECT_EQ(h.store().experiment("matrix")->state, ExperimentState::kActive);
  EXPECT_EQ(h.train("a").state, StageState::kParked);
}

TEST_F(Searched, ARerunQueuesWhatParkedBelowItsStopPoint) {
  const Matrix other{.name = "other", .cells = {"a"}, .searched = true};
  h.submit(other);
  h.decide(kSearched, {{0, 30}});
  h.decide(other, {{0, 90}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  h.set_state("other", ExperimentState::kCancelled);
  h.park("s", *grant, 30);
  ASSERT_EQ(h.train("a").state, StageState::kParked);
  ASSERT_TRUE(h.rerun("other"));
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.ask("s")->until_step, 90);
}

TEST_F(Searched, KeepsItsStopPointsWhenItIsExtended) {
  h.decide(kSearched, {{0, 30}});
  h.join("w", "s");
  const auto grant = h.ask("s");
  ASSERT_TRUE(h.submit({.cells = {"a", "b", "c"}, .searched = true}));
  EXPECT_EQ(h.stop_points("s", {stated(*grant)}).at(grant->stage_id), 30);
}

// S4: what fails alike everywhere pauses the experiment, and the search waits for a person.
TEST_F(Searched, IsPausedWhereAllOfARungFailsAlike) {
  const Matrix three{.name = "three", .cells = {"a", "b", "c"}, .searched = true};
  h.submit(three);
  h.decide(three, {{0, 30}, {1, 30}, {2, 30}});
  h.join("w", "s");
  for (int i = 0; i < 3; ++i) h.fail("s", *h.ask("s"), FailureClass::kDiverged);
  EXPECT_EQ(h.store().experiment("three")->state, ExperimentState::kPaused);
}

TEST_F(Searched, ADecisionAfterARestartIsJudgedByTheStoredLog) {
  h.decide(kSearched, {{0, 30}});
  h.restart();
  EXPECT_TRUE(h.decide(kSearched, {{0, 90}, {1, 30}})) << h.last_error();
  EXPECT_EQ(decided_so_far(), 3);
}

}  // namespace
}  // namespace locus::testing

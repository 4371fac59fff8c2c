// Who gets what, in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

TEST(GrantOrder, GivesTrialsInTheirOrder) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .seeds = {0, 1}, .evaluate = false});
  h.join("w", "s");
  const std::vector<StageRow> expected = {h.train("a", 0), h.train("a", 1), h.train("b", 0), h.train("b", 1)};
  for (const StageRow& row : expected) EXPECT_EQ(h.ask("s")->stage_id, row.id);
  EXPECT_FALSE(h.ask("s"));
}

TEST(GrantOrder, FinishesATrialBeforeItBeginsTheNext) {
  Harness h;
  h.submit({.cells = {"a", "b", "c"}});
  h.join("w", "s");
  const auto train = h.ask("s");
  h.succeed("s", *train);
  const auto next = h.ask("s");
  EXPECT_EQ(next->kind, "evaluate");
  EXPECT_EQ(next->stage_id, h.evaluate("a").id);
}

TEST(GrantOrder, PutsAnEvaluationBeforeTheTrainingOfAnEarlierTrial) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  const auto first = h.ask("s");
  const auto second = h.ask("s");
  h.fail("s", *first, FailureClass::kCode);
  h.succeed("s", *second);
  h.advance(10min);  // a's back-off is long over; keep the worker's session
  h.join("w", "s2");
  EXPECT_EQ(h.ask("s2")->stage_id, h.evaluate("b").id);
  EXPECT_EQ(h.ask("s2")->stage_id, h.train("a").id);
}

TEST(GrantOrder, ServesTheHigherPriorityFirst) {
  Harness h;
  h.submit({.name = "old", .cells = {"a"}});
  h.submit({.name = "urgent", .cells = {"b"}, .priority = 5});
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->stage_id, h.train("b").id);
  EXPECT_EQ(h.ask("s")->stage_id, h.train("a").id);
}

TEST(GrantOrder, ServesTheOlderExperimentFirstAtEqualPriority) {
  Harness h;
  h.submit({.name = "first", .cells = {"b"}});
  h.submit({.name = "second", .cells = {"a"}});
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->stage_id, h.train("b").id);
  EXPECT_EQ(h.ask("s")->stage_id, h.train("a").id);
}

TEST(GrantOrder, LetsASubmissionChangeThePriority) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}});
  h.submit({.name = "second", .cells = {"b"}});
  h.submit({.name = "second", .cells = {"b"}, .priority = 1});
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->stage_id, h.train("b").id);
}

TEST(GrantOrder, GrantsAStageThatTwoExperimentsWantOnce) {
  Harness h;
  h.submit({.name = "first", .cells = {"a"}, .evaluate = false});
  const auto shared = h.submit({.name = "second", .cells = {"a"}, .evaluate = false});
  EXPECT_EQ(shared->stages_to_run, 1);
  h.join("w", "s");
  EXPECT_TRUE(h.ask("s"));
  EXPECT_FALSE(h.ask("s"));
}

TEST(GrantOrder, HandsOverTheLargestLimitOfThoseWhoWantTheStage) {
  Harness h;
  h.submit({.name = "quick", .cells = {"a"}, .evaluate = false, .stage_seconds = 60});
  h.submit({.name = "slow", .cells = {"a", "b"}, .evaluate = false, .stage_seconds = 3600});
  h.submit({.name = "patient", .cells = {"b"}, .evaluate = false});
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->limit_seconds, 3600);
  EXPECT_EQ(h.ask("s")->limit_seconds, 0) << "patient sets none";
}

TEST(GrantOrder, KeepsALimitOverARestartAndTakesANewOne) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .evaluate = false, .stage_seconds = 60});
  h.restart();
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->limit_seconds, 60);
  h.submit({.cells = {"a", "b"}, .evaluate = false, .stage_seconds = 90});
  EXPECT_EQ(h.ask("s")->limit_seconds, 90);
}

TEST(GrantOrder, NeverGrantsToAWorkerThatLacksARevision) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("old", "s", {}, {{"stage/train", 1}, {"prior/a", 2}});
  EXPECT_FALSE(h.ask("s"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("old lacks prior/a at revision 1 (it has 2)"));
  h.join("bare", "t", {}, {{"stage/train", 1}});
  EXPECT_FALSE(h.ask("t"));
  h.join("new", "u");
  EXPECT_TRUE(h.ask("u"));
}

TEST(GrantOrder, LooksPastStagesTheWorkerCannotRun) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .evaluate = false});
  h.join("w", "s", {}, {{"stage/train", 1}, {"prior/b", 1}});
  EXPECT_EQ(h.ask("s")->stage_id, h.train("b").id);
}

TEST(GrantOrder, SkipsPausedExperiments) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kPaused));
  EXPECT_FALSE(h.ask("s"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("paused"));
  EXPECT_TRUE(h.set_state("matrix", ExperimentState::kActive));
  EXPECT_TRUE(h.ask("s"));
}

TEST(GrantOrder, GrantsAPausedExperimentsStageWhenAnActiveOneWantsItToo) {
  Harness h;
  h.submit({.name = "paused", .cells = {"a"}});
  h.set_state("paused", ExperimentState::kPaused);
  h.submit({.name = "active", .cells = {"a"}});
  h.join("w", "s");
  EXPECT_TRUE(h.ask("s"));
}

TEST(GrantOrder, PrefersTheWorkerThatMadeTheInputAmongThoseAsking) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("first", "s1");
  h.join("maker", "s2");
  const auto train = h.ask("s2");
  const ReplyToken first = h.ask_and_wait("s1", "r1");
  const ReplyToken maker = h.ask_and_wait("s2", "r2");
  h.succeed("s2", *train);
  EXPECT_TRUE(h.granted(maker));
  EXPECT_EQ(h.answer(first), nullptr);
}

TEST(GrantOrder, DoesNotWaitForTheWorkerThatMadeTheInput) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("other", "s1");
  h.join("maker", "s2");
  const auto train = h.ask("s2");
  const ReplyToken other = h.ask_and_wait("s1", "r1");
  h.succeed("s2", *train);
  EXPECT_TRUE(h.granted(other));
}

TEST(GrantOrder, HandsOverTheInputsAndATitle) {
  Harness h;
  h.submit({.cells = {"a"}, .seeds = {7}});
  h.join("w", "s");
  const auto train = h.ask("s");
  EXPECT_EQ(train->title, "matrix/0 train, seed 7");
  EXPECT_EQ(train->attempt, 1);
  EXPECT_EQ(train->slots, std::vector<int>{0});
  EXPECT_TRUE(train->inputs.empty());
  h.succeed("s", *train);
  const auto evaluate = h.ask("s");
  const std::string made = h.train("a", 7).outputs.at(0).sha256;
  EXPECT_EQ(evaluate->inputs, (std::map<std::string, std::string>{{"checkpoint", made}}));
}

TEST(GrantOrder, SaysHowManyStagesAreBeforeOne) {
  Harness h;
  h.submit({.cells = {"a", "b", "c"}, .evaluate = false});
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("none is connected"));
  h.join("w", "s");
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("it is next"));
  EXPECT_THAT(h.explain(h.train("b")), HasSubstr("1 stage is before it"));
  EXPECT_THAT(h.explain(h.train("c")), HasSubstr("2 stages are before it"));
}

}  // namespace
}  // namespace locus::testing

// What may start on slots that are kept for others, and what becomes of it when its time is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Matrix limited(const std::string& cell, std::int64_t seconds, const std::string& name) {
  return {.name = name, .cells = {cell}, .evaluate = false, .stage_seconds = seconds};
}
Matrix wide(const std::string& cell, int devices) {
  return {.name = "wide",
          .cells = {cell},
          .evaluate = false,
          .placement = placement_text({.require = {}, .prefer = {}, .devices = devices})};
}

// A worker of four slots; what runs on the first is over after a thousand seconds, and a gang waits for all of them.
struct Backfill : ::testing::Test {
  void begin(std::int64_t seconds) {
    std::vector<SlotOffer> slots;
    for (int i = 0; i < 4; ++i) slots.push_back({"cpu", i, 1});
    h.join("w", "s", {}, Harness::default_revisions(), slots);
    h.submit(limited("a", seconds, "first"));
    running.push_back(*h.ask("s", {0, 1, 2, 3}));
    h.submit(wide("b", 4));
  }
  void pass(std::chrono::seconds time) {
    for (; time > 0s; time -= 5s) {
      h.advance(5s);
      wishes = *h.sync("s", held());
    }
  }
  std::vector<StatedAttempt> held() const {
    std::vector<StatedAttempt> out;
    for (const Grant& grant : running) out.push_back(stated(grant));
    return out;
  }
  // What is granted of slots 1 to 3, and runs from now on.
  std::optional<Grant> take() {
    auto grant = h.ask("s", {1, 2, 3});
    if (grant) running.push_back(*grant);
    return grant;
  }

  Harness h;
  std::vector<Grant> running;
  std::vector<LeaseWish> wishes;
};

TEST_F(Backfill, StartsWhatIsOverBeforeThatForWhichSlotsAreKept) {
  begin(1000);
  h.submit(limited("c", 900, "short"));
  const auto grant = take();
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->stage_id, h.train("c").id);
}

TEST_F(Backfill, StartsNothingThatMayLastLonger) {
  begin(1000);
  h.submit(limited("c", 1001, "long"));
  EXPECT_FALSE(take());
}

TEST_F(Backfill, StartsNothingOfWhichNobodyKnowsHowLongItLasts) {
  begin(1000);
  h.submit(limited("c", 0, "unlimited"));
  EXPECT_FALSE(take());
}

TEST_F(Backfill, GoesByOnceAndAHalfOfAnEstimateWhereThereIsNoLimit) {
  begin(1000);
  h.submit(limited("c", 0, "estimated"));
  h.step(StagesEstimated{{{h.train("c").id, us(700s)}}});
  EXPECT_FALSE(take()) << "it may take 1050 s";
  h.step(StagesEstimated{{{h.train("c").id, us(660s)}}});
  EXPECT_TRUE(take());
}

TEST_F(Backfill, LearnsWhenTheSlotsAreFreeWhileTheyAreInUse) {
  begin(0);
  h.submit(limited("c", 900, "short"));
  EXPECT_FALSE(take());
  h.step(StagesEstimated{{{h.train("a").id, us(599s)}}});
  EXPECT_FALSE(take()) << "in at most 898.5 s";
  h.step(StagesEstimated{{{h.train("a").id, us(600s)}}});
  EXPECT_TRUE(take());
}

TEST_F(Backfill, CountsAnEstimateFromWhenTheStageWasGranted) {
  begin(0);
  pass(200s);
  h.step(StagesEstimated{{{h.train("a").id, us(600s)}}});
  h.submit(limited("c", 701, "too-long"));
  EXPECT_FALSE(take());
  h.submit(limited("none", 700, "short"));
  EXPECT_TRUE(take());
}

TEST_F(Backfill, TakesAnEstimateBackThatIsUnknownAgain) {
  begin(0);
  h.submit(limited("c", 900, "short"));
  h.step(StagesEstimated{{{h.train("a").id, us(600s)}}});
  h.step(StagesEstimated{{{h.train("a").id, 0}}});
  EXPECT_FALSE(take());
}

TEST_F(Backfill, HoldsWhatItLetInToWhatWasExpectedOfItThen) {
  begin(1000);
  h.submit(limited("c", 0, "estimated"));
  h.step(StagesEstimated{{{h.train("c").id, us(600s)}}});
  ASSERT_TRUE(take());
  h.step(StagesEstimated{{{h.train("c").id, us(6000s)}}});
  pass(895s);
  EXPECT_THAT(wishes, ElementsAre(LeaseWish::kContinue, LeaseWish::kContinue));
  pass(10s);
  EXPECT_THAT(wishes, ElementsAre(LeaseWish::kContinue, LeaseWish::kCheckpointAndStop));
}

TEST_F(Backfill, AsksForEstimatesWhileSlotsAreKept) {
  EXPECT_FALSE(h.scheduler().goes_by_estimates());
  begin(1000);
  EXPECT_TRUE(h.scheduler().goes_by_estimates());
  h.set_state("wide", ExperimentState::kCancelled);
  EXPECT_FALSE(h.scheduler().goes_by_estimates());
  h.submit({.name = "costs", .cells = {"a"}, .evaluate = false, .measure = true, .train = false});
  EXPECT_TRUE(h.scheduler().goes_by_estimates());
  std::vector<StageId> described;
  for (const StageSpan& span : h.scheduler().spans([](StageId) { return true; })) described.push_back(span.id);
  EXPECT_THAT(described, ElementsAre(h.train("a").id, h.measure("a").id)) << "what runs, too";
}

TEST_F(Backfill, SaysWhatIsTooLongByHowMuch) {
  begin(1000);
  h.submit(limited("c", 1001, "long"));
  EXPECT_FALSE(take());
  EXPECT_THAT(h.explain(h.train("c")), HasSubstr("which takes 4 devices together and comes before it; that can begin "
                                                 "within 17 min, and this may take a little longer by its "
                                                 "limits.stage_seconds"));
  h.submit(limited("none", 0, "estimated"));
  h.step(StagesEstimated{{{h.train("none").id, us(800s)}}});
  EXPECT_FALSE(take());
  EXPECT_THAT(h.explain(h.train("none")), HasSubstr("this may take 20 min, once and a half what its like took"));
}

TEST_F(Backfill, SaysWhereALengthIsUnknown) {
  begin(1000);
  h.submit(limited("c", 0, "unlimited"));
  EXPECT_FALSE(take());
  EXPECT_THAT(h.explain(h.train("c")),
              HasSubstr("what is over within 17 min, when that can begin, is started there "
                        "meanwhile, but this has no limits.stage_seconds and nothing like it"));
}

TEST_F(Backfill, SaysWhichEndNobodyKnows) {
  begin(0);
  h.submit(limited("c", 1, "short"));
  EXPECT_FALSE(take());
  EXPECT_THAT(h.explain(h.train("c")),
              HasSubstr("nobody knows when that can begin: stage " + std::to_string(h.train("a").id) + " runs there"));
}

TEST_F(Backfill, StartsNothingWhereNobodyKnowsWhenTheSlotsAreFree) {
  begin(0);
  h.submit(limited("c", 1, "short"));
  EXPECT_FALSE(take());
}

TEST_F(Backfill, CountsTheTimeThatHasPassed) {
  begin(1000);
  pass(200s);
  h.submit(limited("c", 900, "too-late"));
  EXPECT_FALSE(take());
  h.submit(limited("none", 700, "short"));
  EXPECT_EQ(take()->stage_id, h.train("none").id) << "behind one of its kind that is too long";
}

TEST_F(Backfill, DoesNotDelayTheGang) {
  begin(1000);
  h.submit(limited("c", 900, "short"));
  const auto small = take();
  h.succeed("s", running[0]);
  EXPECT_FALSE(h.ask("s", {0, 2, 3}));
  h.succeed("s", *small);
  EXPECT_EQ(h.ask("s", {0, 1, 2, 3})->stage_id, h.train("b").id);
}

TEST_F(Backfill, StopsWhatIsNotOverWhenItWasToBe) {
  begin(1000);
  h.submit(limited("c", 900, "short"));
  const auto small = take();
  pass(895s);
  EXPECT_THAT(wishes, ElementsAre(LeaseWish::kContinue, LeaseWish::kContinue));
  pass(10s);
  EXPECT_THAT(wishes, ElementsAre(LeaseWish::kContinue, LeaseWish::kCheckpointAndStop));
  EXPECT_THAT(h.explain(h.train("c")), HasSubstr("it is being saved and stopped: it was to be over before stage " +
                                                 std::to_string(h.train("b").id) + " can begin"));
  h.checkpoint("s", *small, 7);
  h.complete("s", *small, AttemptState::kStopped);
  const StageRow row = h.train("c");
  EXPECT_EQ(row.state, StageState::kQueued);
  EXPECT_EQ(row.failure_class, FailureClass::kPreempted);
  EXPECT_EQ(row.failures + row.faults, 0);
  EXPECT_EQ(row.retry_delay_us, 0);
}

TEST_F(Backfill, EndsWhatDoesNotStopAndLetsItGoOnFromItsFormerCheckpoint) {
  begin(1000);
  h.submit(limited("c", 900, "short"));
  const auto small = take();
  h.checkpoint("s", *small, 7);
  pass(955s);
  EXPECT_EQ(h.train("c").state, StageState::kRunning);
  pass(10s);
  const StageRow row = h.train("c");
  EXPECT_EQ(row.state, StageState::kQueued);
  EXPECT_EQ(row.failure_class, FailureClass::kPreempted);
  EXPECT_EQ(row.failures + row.faults, 0);
  EXPECT_THAT(row.reason, HasSubstr("it had not stopped after 60 s"));
  EXPECT_THAT(wishes, ElementsAre(LeaseWish::kContinue, LeaseWish::kCancel));
  h.succeed("s", running[0]);
  running.clear();
  const auto gang = h.ask("s", {0, 1, 2, 3});
  EXPECT_EQ(gang->stage_id, h.train("b").id);
  h.succeed("s", *gang);
  EXPECT_EQ(h.ask("s", {0, 1, 2, 3})->resume_step, 7);
}

TEST_F(Backfill, LeavesAloneWhatNobodyWaitsForAnyMore) {
  begin(1000);
  h.submit(limited("c", 900, "short"));
  take();
  h.set_state("wide", ExperimentState::kCancelled);
  pass(920s);
  EXPECT_THAT(wishes, ElementsAre(LeaseWish::kContinue, LeaseWish::kContinue));
}

TEST_F(Backfill, HoldsForWhatRunsAloneToo) {
  begin(1000);
  h.set_state("wide", ExperimentState::kCancelled);
  h.submit({.name = "costs", .cells = {"a"}, .evaluate = false, .measure = true, .train = false});
  h.submit(limited("c", 1001, "long"));
  EXPECT_FALSE(take());
  h.submit(limited("none", 900, "short"));
  EXPECT_EQ(take()->stage_id, h.train("none").id);
}

}  // namespace
}  // namespace locus::testing

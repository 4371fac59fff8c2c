// Workers that have said when they end, estimates, and what waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Ends : ::testing::Test {
  Ends() { h.submit({.cells = {"a"}, .evaluate = false}); }

  // A worker that drains by itself after `left`, of a life of `lifetime`.
  bool join(const std::string& name, std::chrono::microseconds left, std::chrono::microseconds lifetime = 24h) {
    WorkerRegistered event;
    event.name = name;
    event.session = name;
    event.host = "host";
    event.slots_json = "[]";
    event.slots = {{"cpu", 0, 1}};
    event.revisions = Harness::default_revisions();
    event.time_left = us(left);
    event.lifetime = us(lifetime);
    return h.announce(event);
  }
  void estimate(std::chrono::microseconds busy) { h.step(StagesEstimated{{{h.train("a").id, us(busy)}}}); }
  std::vector<QueuedStage> queued(bool described = false) {
    return h.scheduler().queued(h.now(), [=](StageId) { return described; });
  }

  Harness h;
};

TEST_F(Ends, GiveAStageTheTimeItIsEstimatedToTake) {
  estimate(3h);
  join("near", 3h - 1s);
  EXPECT_FALSE(h.ask("near"));
  join("far", 3h);
  EXPECT_TRUE(h.ask("far"));
}

TEST_F(Ends, HoldNothingBackWithoutAnEstimate) {
  join("near", 1min);
  EXPECT_TRUE(h.ask("near"));
}

TEST_F(Ends, TakeAnEstimateBackThatIsUnknownAgain) {
  estimate(3h);
  estimate(0s);
  join("near", 1min);
  EXPECT_TRUE(h.ask("near"));
}

TEST_F(Ends, AreNobodysWhoSaidNothing) {
  estimate(1000h);
  ASSERT_TRUE(h.join("stays", "stays"));
  EXPECT_FALSE(h.scheduler().goes_by_estimates());
  EXPECT_TRUE(h.ask("stays"));
}

TEST_F(Ends, OfAWholeLifeAreEnoughForWhatOutlastsIt) {
  estimate(48h);
  join("late", 12h - 1s, 24h);
  EXPECT_FALSE(h.ask("late"));
  join("fresh", 12h, 24h);
  EXPECT_TRUE(h.ask("fresh"));
}

TEST_F(Ends, ThatHavePassedGetNothingAtAll) {
  join("over", 10s);
  h.advance(10s);
  h.sync("over");
  EXPECT_FALSE(h.ask("over"));
}

TEST_F(Ends, AreCountedAnewAtEveryRegistration) {
  estimate(3h);
  join("extended", 1h);
  EXPECT_FALSE(h.ask("extended"));
  join("extended", 4h);
  EXPECT_TRUE(h.ask("extended"));
}

TEST_F(Ends, KeepNoDeviceEmptyForAStageThatCouldNotEndThere) {
  h.submit({.name = "measured", .cells = {"b"}, .evaluate = false, .priority = 5, .measure = true, .train = false});
  h.step(StagesEstimated{{{h.measure("b").id, us(3h)}}});
  join("near", 1h);
  const auto grant = h.ask("near");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->stage_id, h.train("a").id);
}

TEST_F(Ends, AreGivenAsTheReasonOfAWait) {
  estimate(3h);
  join("near", 1h);
  join("nearer", 10min);
  h.ask("near");
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("waits for a worker that stays: near ends in 60 min"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("takes about 3 h"));
}

TEST_F(Ends, DoNotChangeWhatWaits) {
  h.submit({.name = "more", .cells = {"b", "c"}, .evaluate = false});
  ASSERT_THAT(queued(), SizeIs(3));
  EXPECT_EQ(queued()[0].workers, 0);
  EXPECT_EQ(queued()[0].span.kind, "");
  EXPECT_EQ(queued(true)[0].span.kind, "train");
  EXPECT_EQ(queued(true)[0].span.config_json, h.train("a").config_json);
  h.advance(40s);
  join("near", 1h);
  EXPECT_EQ(queued()[0].workers, 1);
  EXPECT_EQ(queued()[0].waited, us(40s));
  const auto grant = h.ask("near");
  ASSERT_TRUE(grant);
  EXPECT_THAT(queued(), SizeIs(2)) << "what runs does not wait";
  EXPECT_TRUE(h.scheduler().goes_by_estimates());
}

TEST_F(Ends, SayFromWhereAQueuedStageWouldGoOn) {
  join("first", 1h);
  const auto grant = h.ask("first");
  ASSERT_TRUE(grant);
  ASSERT_TRUE(h.checkpoint("first", *grant, 70));
  ASSERT_TRUE(h.complete("first", *grant, AttemptState::kStopped));
  ASSERT_THAT(queued(), SizeIs(1));
  EXPECT_EQ(queued()[0].span.resume_step, 70);
  EXPECT_EQ(queued()[0].waited, 0);
}

TEST_F(Ends, CountTheWorkersThatAreOfTheKindAndSizeThatIsAsked) {
  h.submit(
      {.name = "placed",
       .cells = {"b"},
       .evaluate = false,
       .placement = placement_text({.require = {{"pool", "vision"}}, .prefer = {}, .devices = 2, .memory_gib = 3})});
  ASSERT_TRUE(h.join_labeled("labeled", "labeled", {.granted = {{"pool", "vision"}}, .announced = {}}));
  ASSERT_TRUE(h.join("large", "large", {}, Harness::default_revisions(), {{"cpu", 0, 1}, {"cpu", 1, 1}}));
  const QueuedStage plain = queued()[0], placed = queued()[1];
  EXPECT_EQ(plain.workers, 2);
  EXPECT_EQ(plain.devices, 1);
  EXPECT_EQ(plain.memory_bytes, 0);
  EXPECT_EQ(plain.require, Labels());
  EXPECT_EQ(placed.workers, 0) << "one has the label, another the size";
  EXPECT_EQ(placed.devices, 2);
  EXPECT_EQ(placed.memory_bytes, std::int64_t{3} << 30);
  EXPECT_EQ(placed.require, (Labels{{"pool", "vision"}}));
}

TEST_F(Ends, LeavePausedExperimentsOutOfWhatWaits) {
  ASSERT_TRUE(h.set_state("matrix", ExperimentState::kPaused));
  EXPECT_THAT(queued(), SizeIs(0));
}

}  // namespace
}  // namespace locus::testing

// Trainings that take several devices of one worker together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<SlotOffer> cores(int count) {
  std::vector<SlotOffer> slots;
  for (int i = 0; i < count; ++i) slots.push_back({"cpu", i, 1});
  return slots;
}
std::vector<int> numbered(int count) {
  std::vector<int> slots;
  for (int i = 0; i < count; ++i) slots.push_back(i);
  return slots;
}
Matrix together(int devices, std::vector<std::string> cells, std::string name = "gang", int priority = 0) {
  return {.name = std::move(name),
          .cells = std::move(cells),
          .evaluate = false,
          .priority = priority,
          .placement = placement_text({.require = {}, .prefer = {}, .devices = devices})};
}
Matrix alone(std::vector<std::string> cells, std::string name = "plain", int priority = 0) {
  return {.name = std::move(name), .cells = std::move(cells), .evaluate = false, .priority = priority};
}
bool join_with(Harness& h, const std::string& name, const std::string& session, std::vector<SlotOffer> slots) {
  return h.join(name, session, {}, Harness::default_revisions(), std::move(slots));
}

TEST(Gang, IsGrantedAllOfItsDevicesAtOnceOrNone) {
  Harness h;
  h.submit(together(4, {"a"}));
  join_with(h, "w", "s", cores(8));
  EXPECT_FALSE(h.ask("s", {0, 3, 5})) << "a part of them is of no use";
  const auto grant = h.ask("s", {0, 3, 5, 6, 7});
  ASSERT_TRUE(grant);
  EXPECT_THAT(grant->slots, ElementsAre(0, 3, 5, 6));
  const auto running = h.store().load().value().running;
  ASSERT_EQ(running.size(), 1u);
  EXPECT_THAT(running[0].slots, ElementsAre(0, 3, 5, 6)) << "which is what a server that starts again finds";
}

TEST(Gang, FreesItsDevicesTogether) {
  Harness h;
  h.submit(together(4, {"a", "b"}));
  join_with(h, "w", "s", cores(4));
  const auto first = h.ask("s", numbered(4));
  EXPECT_EQ(h.scheduler().fleet().workers.front().busy, 4u);
  h.succeed("s", *first);
  EXPECT_EQ(h.scheduler().fleet().workers.front().busy, 0u);
  EXPECT_EQ(h.ask("s", numbered(4))->stage_id, h.train("b").id);
}

TEST(Gang, FreesAllItsDevicesWhenItsWorkerDiesBeforeItBegan) {
  Harness h;
  h.submit(together(4, {"a"}));
  join_with(h, "w", "s", cores(4));
  const auto first = h.ask("s", numbered(4));
  ASSERT_TRUE(first);
  join_with(h, "w", "t", cores(4));  // a new daemon, which has never heard of it
  h.advance(10s);
  const auto again = h.ask("t", numbered(4));
  ASSERT_TRUE(again) << "no device is stuck";
  EXPECT_EQ(again->stage_id, first->stage_id);
  EXPECT_EQ(again->attempt, 2);
  EXPECT_FALSE(h.succeed("s", *first)) << "the attempt is over";
}

TEST(Gang, FreesAllItsDevicesWhenItsGrantIsNeverTakenUp) {
  Harness h;
  h.submit(together(4, {"a"}));
  join_with(h, "w", "s", cores(4));
  join_with(h, "v", "v", cores(4));
  ASSERT_TRUE(h.ask("s", numbered(4)));
  for (auto time = 0s; time < kReattachGrace + 30s; time += 5s) {
    h.advance(5s);
    h.sync("v");
  }
  const auto again = h.ask("v", numbered(4));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->attempt, 2);
  EXPECT_THAT(again->slots, ElementsAre(0, 1, 2, 3));
}

TEST(Gang, IsOfTrainingsAloneAndOtherStagesTakeOneDevice) {
  Harness h;
  Matrix matrix = together(2, {"a"});
  matrix.evaluate = true;
  h.submit(matrix);
  join_with(h, "w", "s", cores(2));
  const auto train = h.ask("s", numbered(2));
  EXPECT_THAT(train->slots, ElementsAre(0, 1));
  h.succeed("s", *train);
  const auto evaluate = h.ask("s", {1});
  ASSERT_TRUE(evaluate);
  EXPECT_EQ(evaluate->kind, "evaluate");
  EXPECT_THAT(evaluate->slots, ElementsAre(1));
}

TEST(Gang, HoldsItsDevicesThroughARestartOfTheServer) {
  Harness h;
  h.submit(together(3, {"a"}));
  join_with(h, "w", "s", cores(4));
  const auto grant = h.ask("s", numbered(4));
  h.submit(together(2, {"b"}, "later"));
  h.restart();
  h.join("w", "s", {stated(*grant)}, Harness::default_revisions(), cores(4));
  EXPECT_EQ(h.scheduler().fleet().workers.front().busy, 3u);
  EXPECT_FALSE(h.ask("s", {2, 3})) << "slot 2 is not free, whatever the worker says";
  h.succeed("s", *grant);
  EXPECT_THAT(h.ask("s", {2, 3})->slots, ElementsAre(2, 3));
}

TEST(Gang, HasADeviceOfItsOwnForEachOfItsProcesses) {
  Harness h;
  h.submit(together(2, {"a"}));
  join_with(h, "w", "s", {{"cuda", 0, 1}, {"cuda", 0, 1}, {"cuda", 1, 1}, {"cuda", 1, 1}});
  EXPECT_FALSE(h.ask("s", {0, 1})) << "two slots of one GPU are one device";
  EXPECT_THAT(h.ask("s", numbered(4))->slots, ElementsAre(0, 2));
}

TEST(Gang, IsNeverGivenToAWorkerThatDoesNotKnowIt) {
  Harness h;
  h.submit(together(2, {"a"}));
  WorkerRegistered old;
  old.name = "old", old.session = "s";
  old.slots = cores(4);
  old.revisions = Harness::default_revisions();
  h.announce(old);
  EXPECT_FALSE(h.ask("s", numbered(4)));
  EXPECT_THAT(h.explain(h.train("a")),
              AllOf(HasSubstr("it needs 2 devices of one node"),
                    HasSubstr("old has 4 and is of a release that trains on one at a time: update it")));
  h.submit(alone({"b"}));
  EXPECT_EQ(h.ask("s", numbered(4))->stage_id, h.train("b").id);
  join_with(h, "new", "n", cores(2));
  EXPECT_TRUE(h.ask("n", numbered(2)));
}

TEST(Gang, IsNeverGivenToAWorkerWhoseDevicesCannotBeTakenTogether) {
  Harness h;
  h.submit(together(2, {"a"}));
  WorkerRegistered gpus;
  gpus.name = "gpus", gpus.session = "s";
  gpus.slots = {{"cuda", 0, 1}, {"cuda", 1, 1}};
  gpus.revisions = Harness::default_revisions();
  gpus.apart = "cannot train on several GPUs together: no libnccl.so.2";
  h.announce(gpus);
  EXPECT_FALSE(h.ask("s", numbered(2)));
  EXPECT_EQ(h.explain(h.train("a")),
            "waits for a larger worker: it needs 2 devices of one node, gpus has 2 and cannot train on several GPUs "
            "together: no libnccl.so.2");
  EXPECT_EQ(h.scheduler().fleet().workers.front().together, 1);
  h.submit(alone({"b"}));
  EXPECT_EQ(h.ask("s", numbered(2))->stage_id, h.train("b").id) << "and nothing is kept free for it";
}

TEST(Gang, SaysHowManyDevicesItNeedsAndTheLargestWorkerHas) {
  Harness h;
  h.submit(together(8, {"a"}));
  join_with(h, "small", "s", cores(2));
  join_with(h, "large", "l", cores(4));
  EXPECT_EQ(h.explain(h.train("a")),
            "waits for a larger worker: it needs 8 devices of one node, the largest has 4 (large)");
}

TEST(Gang, LargerThanEveryWorkerKeepsNothingFree) {
  Harness h;
  h.submit(together(8, {"a"}));
  h.submit(alone({"b", "c"}, "later"));
  join_with(h, "w", "s", cores(2));
  EXPECT_EQ(h.ask("s", numbered(2))->stage_id, h.train("b").id);
  EXPECT_EQ(h.ask("s", {1})->stage_id, h.train("c").id);
}

TEST(Gang, HasSlotsEmptiedForItWhereItIsFirst) {
  Harness h;
  h.submit(alone({"a", "b"}));
  join_with(h, "w", "s", cores(4));
  const auto first = h.ask("s", numbered(4)), second = h.ask("s", {1, 2, 3});
  h.submit(together(3, {"c"}));
  h.submit(alone({"none"}, "later"));
  EXPECT_FALSE(h.ask("s", {2, 3})) << "what comes after it does not take what it waits for";
  EXPECT_THAT(h.explain(h.train("c")), HasSubstr("takes 3 devices of one worker together: 2 of w are free and kept for "
                                                 "it, 1 is in use"));
  EXPECT_THAT(h.explain(h.train("none")), HasSubstr("w is kept free for stage " + std::to_string(h.train("c").id) +
                                                    " (train), which takes 3 devices together and comes before it"));
  h.succeed("s", *second);
  EXPECT_THAT(h.ask("s", {1, 2, 3})->slots, ElementsAre(1, 2, 3));
  h.succeed("s", *first);
  EXPECT_EQ(h.ask("s", {0})->stage_id, h.train("none").id);
}

TEST(Gang, KeepsNoMoreSlotsFreeThanItTakes) {
  Harness h;
  h.submit(alone({"a"}));
  join_with(h, "w", "s", cores(4));
  h.ask("s", numbered(4));
  h.submit(together(2, {"b"}));
  h.submit(alone({"none"}, "later"));
  const auto third = h.ask("s", {1});
  EXPECT_FALSE(third) << "slots 1 and 2 are kept";
  EXPECT_EQ(h.ask("s", {3})->stage_id, h.train("none").id);
}

TEST(Gang, IsPassedByWhatComesBeforeIt) {
  Harness h;
  h.submit(alone({"a"}));
  join_with(h, "w", "s", cores(2));
  h.ask("s", numbered(2));
  h.submit(together(2, {"b"}));
  h.submit(alone({"none"}, "first", 5));
  EXPECT_EQ(h.ask("s", {1})->stage_id, h.train("none").id);
}

TEST(Gangs, NeverHoldAPartEachOfWhatBothNeed) {
  Harness h;
  h.submit(alone({"a", "b"}));
  join_with(h, "w", "s", cores(4));
  const auto first = h.ask("s", numbered(4)), second = h.ask("s", {1, 2, 3});
  h.submit(together(4, {"c"}, "one"));
  h.submit(together(2, {"none"}, "two"));
  EXPECT_FALSE(h.ask("s", {2, 3})) << "the second does not take what the first waits for";
  h.succeed("s", *first);
  EXPECT_FALSE(h.ask("s", {0, 2, 3}));
  h.succeed("s", *second);
  EXPECT_EQ(h.ask("s", numbered(4))->stage_id, h.train("c").id);
}

TEST(Gang, CountsAllItsDevicesForItsAccount) {
  Harness h;
  h.share({.name = "ada", .weight = 1, .devices = 3});
  Matrix matrix = together(4, {"a"});
  matrix.owner = "ada";
  h.submit(matrix);
  join_with(h, "w", "s", cores(4));
  EXPECT_FALSE(h.ask("s", numbered(4)));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("waits for its account"));
  h.share({.name = "ada", .weight = 1, .devices = 4});
  ASSERT_TRUE(h.ask("s", numbered(4)));
  const auto accounts = h.scheduler().accounts(h.now());
  ASSERT_EQ(accounts.size(), 1u);
  EXPECT_EQ(accounts[0].holding, 4000);
  h.restart();
  const auto found = h.scheduler().accounts(h.now());
  EXPECT_EQ(found.front().holding, 4000);
}

TEST(Gang, OfTwoExperimentsTakesAsManyAsThatWhoseTurnItIs) {
  Harness h;
  h.submit(together(4, {"a"}, "wide"));
  h.submit(alone({"a"}, "narrow"));
  join_with(h, "w", "s", cores(2));
  EXPECT_THAT(h.ask("s", numbered(2))->slots, ElementsAre(0)) << "no worker is large enough for the other";
}

TEST(Gang, MovesToAWorkerThatIsHeardAgainAndFreesWhatWasKeptElsewhere) {
  Harness h;
  join_with(h, "far", "f", cores(3));
  join_with(h, "near", "n", cores(2));
  h.submit(alone({"a", "b"}, "first"));
  const auto on_far = h.ask("f"), on_near = h.ask("n");
  h.submit(together(2, {"c"}, "gang", 1));
  h.submit(alone({"none"}, "small"));
  for (auto silent = 0s; silent < kLease + 5s; silent += 5s) {
    h.advance(5s);
    h.sync("n", {stated(*on_near)});
  }
  const ReplyToken waiting = h.ask_and_wait("n", "request", 20s, {1});
  EXPECT_FALSE(h.granted(waiting)) << "its free slot is kept, since the other worker is not heard";
  h.sync("f", {stated(*on_far)});
  ASSERT_TRUE(h.granted(waiting)) << "nobody but a heartbeat has come since";
  EXPECT_EQ(h.granted(waiting)->stage_id, h.train("none").id);
}

}  // namespace
}  // namespace locus::testing

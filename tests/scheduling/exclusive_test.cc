// Stages that run alone on their device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<SlotOffer> kTwoCores = {{"cpu", 0, 1}, {"cpu", 1, 1}};
const std::vector<SlotOffer> kTwoGpus = {{"cuda", 0, 1}, {"cuda", 1, 1}};
const std::vector<int> kBoth = {0, 1};

Matrix only_measures(std::vector<std::string> cells, std::string name = "costs", int priority = 0) {
  return {.name = std::move(name), .cells = std::move(cells), .priority = priority, .measure = true, .train = false};
}
Matrix only_trains(std::vector<std::string> cells, std::string name = "plain", int priority = 0) {
  return {.name = std::move(name), .cells = std::move(cells), .evaluate = false, .priority = priority};
}
bool join_two(Harness& h, const std::vector<SlotOffer>& slots = kTwoCores) {
  return h.join("w", "s", {}, Harness::default_revisions(), slots);
}

TEST(Exclusive, IsGrantedToAnEmptyWorkerOnly) {
  Harness h;
  h.submit(only_trains({"a"}));
  join_two(h);
  const auto train = h.ask("s", kBoth);
  h.submit(only_measures({"a"}));
  EXPECT_FALSE(h.ask("s", {1}));
  h.succeed("s", *train);
  EXPECT_EQ(h.ask("s", kBoth)->stage_id, h.measure("a").id);
}

TEST(Exclusive, WaitsUntilTheWorkerItselfOffersEverySlot) {
  Harness h;
  h.submit(only_measures({"a"}));
  join_two(h);
  EXPECT_FALSE(h.ask("s", {1})) << "slot 0 may still be ending what was taken away from it";
  EXPECT_TRUE(h.ask("s", kBoth));
}

TEST(Exclusive, HasNothingStartedBesideIt) {
  Harness h;
  join_two(h);
  h.submit(only_measures({"a"}));
  const auto measure = h.ask("s", kBoth);
  ASSERT_TRUE(measure);
  h.submit(only_trains({"a"}, "urgent", 9));
  EXPECT_FALSE(h.ask("s", {1}));
  EXPECT_THAT(h.explain(h.train("a")),
              HasSubstr("stage " + std::to_string(measure->stage_id) + " (measure) runs alone on w"));
  h.succeed("s", *measure);
  EXPECT_TRUE(h.ask("s", kBoth));
}

TEST(Exclusive, DrainsTheWorkerWhenItIsFirstInOrder) {
  Harness h;
  h.submit(only_trains({"a"}));
  join_two(h);
  const auto train = h.ask("s", kBoth);
  h.submit(only_measures({"a"}));
  h.submit(only_trains({"b"}, "later"));
  EXPECT_FALSE(h.ask("s", {1})) << "what comes after it does not pass it";
  EXPECT_THAT(h.explain(h.measure("a")),
              AllOf(HasSubstr("waits until w is empty"),
                    HasSubstr("stage " + std::to_string(train->stage_id) + " (train) still runs")));
  EXPECT_THAT(h.explain(h.train("b")),
              HasSubstr("w is kept free for stage " + std::to_string(h.measure("a").id) + " (measure)"));
  h.succeed("s", *train);
  EXPECT_EQ(h.ask("s", kBoth)->stage_id, h.measure("a").id);
}

TEST(Exclusive, IsPassedByWhatComesBeforeIt) {
  Harness h;
  h.submit(only_trains({"a"}));
  join_two(h);
  h.ask("s", kBoth);
  h.submit(only_measures({"a"}));
  h.submit(only_trains({"b"}, "urgent", 5));
  EXPECT_EQ(h.ask("s", {1})->stage_id, h.train("b").id);
}

TEST(Exclusive, ComesAfterWhatSharesDevicesInItsExperiment) {
  Harness h;
  h.submit({.cells = {"a", "b"}, .evaluate = true, .measure = true});
  join_two(h);
  const auto first = h.ask("s", kBoth), second = h.ask("s", {1});
  EXPECT_EQ(first->kind, "train");
  EXPECT_EQ(second->kind, "train");
  h.succeed("s", *first);
  EXPECT_EQ(h.ask("s", {0})->kind, "evaluate");
  h.succeed("s", *second);
  EXPECT_EQ(h.ask("s", {1})->kind, "evaluate");
  EXPECT_FALSE(h.ask("s", {1}));
}

TEST(Exclusive, EmptiesOneWorkerAndLeavesTheOthers) {
  Harness h;
  h.submit(only_trains({"a", "b", "c"}));
  h.join("x", "sx", {}, Harness::default_revisions(), kTwoCores);
  h.join("y", "sy", {}, Harness::default_revisions(), kTwoCores);
  h.ask("sx", kBoth);
  const auto second = h.ask("sx", {1});
  const auto third = h.ask("sy", kBoth);
  h.submit(only_measures({"a"}));
  h.submit(only_trains({"none"}, "later"));
  EXPECT_FALSE(h.ask("sy", {1})) << "the emptier worker is kept free";
  h.succeed("sx", *second);
  h.succeed("sy", *third);
  EXPECT_EQ(h.ask("sx", {1})->stage_id, h.train("none").id) << "y is the emptier one again";
  EXPECT_EQ(h.ask("sy", kBoth)->stage_id, h.measure("a").id);
}

TEST(Exclusive, SeveralHaveADeviceEach) {
  Harness h;
  h.submit(only_measures({"a", "b", "c"}));
  h.submit(only_trains({"none"}, "later"));
  join_two(h, kTwoGpus);
  EXPECT_EQ(h.ask("s", kBoth)->stage_id, h.measure("a").id);
  const auto second = h.ask("s", {1});
  EXPECT_EQ(second->stage_id, h.measure("b").id);
  EXPECT_EQ(second->slots, std::vector<int>{1});
  h.succeed("s", *second);
  EXPECT_EQ(h.ask("s", {1})->stage_id, h.measure("c").id);
  EXPECT_FALSE(h.ask("s", {1}));
}

TEST(Exclusive, SharesNoGpuButLeavesTheOtherOne) {
  Harness h;
  join_two(h, kTwoGpus);
  h.submit(only_measures({"a"}));
  EXPECT_EQ(h.ask("s", kBoth)->slots, std::vector<int>{0});
  h.submit(only_trains({"a"}));
  EXPECT_EQ(h.ask("s", {1})->slots, std::vector<int>{1});
}

TEST(Exclusive, StaysAloneThroughARestartOfTheServer) {
  Harness h;
  join_two(h);
  h.submit(only_measures({"a"}));
  const auto measure = h.ask("s", kBoth);
  h.submit(only_trains({"a"}));
  h.restart();
  h.join("w", "s", {stated(*measure)}, Harness::default_revisions(), kTwoCores);
  EXPECT_FALSE(h.ask("s", {1}));
  h.succeed("s", *measure);
  EXPECT_TRUE(h.ask("s", kBoth));
}

TEST(Exclusive, KeepsNoSilentWorkerFree) {
  Harness h;
  h.submit(only_trains({"a", "b"}));
  join_two(h);
  h.join("other", "t", {}, Harness::default_revisions(), kTwoCores);
  h.ask("s", kBoth);
  const auto elsewhere = h.ask("t", kBoth);
  h.submit(only_measures({"a"}));
  for (int i = 0; i < 12; ++i) {  // w says nothing for a minute; other does
    h.advance(5s);
    h.sync("t", {stated(*elsewhere)});
  }
  h.submit(only_trains({"none"}, "later"));
  EXPECT_FALSE(h.ask("t", {1})) << "the measure waits for the worker that can still become empty";
  h.succeed("t", *elsewhere);
  EXPECT_EQ(h.ask("t", kBoth)->stage_id, h.measure("a").id);
}

TEST(Exclusive, WaitsForNoWorkerThatCannotRunIt) {
  Harness h;
  h.join("old", "o", {}, {{"stage/train", 1}, {"prior/a", 1}});
  h.submit(only_measures({"a"}));
  h.submit(only_trains({"a"}, "later"));
  EXPECT_EQ(h.ask("o")->stage_id, h.train("a").id);
  EXPECT_THAT(h.explain(h.measure("a")), HasSubstr("old lacks stage/measure at revision 1"));
}

}  // namespace
}  // namespace locus::testing

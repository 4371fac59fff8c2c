// Which workers may run what an experiment asks of them by labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

Matrix placed(const std::string& cell, PlacementRules rules, const std::string& name = "placed") {
  return {.name = name, .cells = {cell}, .evaluate = false, .placement = placement_text(rules)};
}

const PlacementRules kVision{.require = {{"pool", "vision"}}, .prefer = {}};

TEST(LabelsAsked, AreMetByTheWorkerThatRunsTheStage) {
  Harness h;
  h.submit(placed("a", kVision));
  h.join("plain", "p");
  h.join_labeled("text", "t", {.granted = {{"pool", "text"}}, .announced = {}});
  EXPECT_FALSE(h.ask("p"));
  EXPECT_FALSE(h.ask("t"));
  h.join_labeled("vision", "v", {.granted = {{"pool", "vision"}}, .announced = {}});
  EXPECT_TRUE(h.ask("v"));
}

TEST(LabelsAsked, AreNotMetByWhatAWorkerClaims) {
  Harness h;
  h.submit(placed("a", kVision));
  h.join_labeled("liar", "l", {.granted = {}, .announced = {{"pool", "vision"}}});
  EXPECT_FALSE(h.ask("l"));
  EXPECT_THAT(h.explain(h.train("a")),
              HasSubstr("waits for a worker of another kind: 1 of 1 worker that could run it has no pool=vision"));
  EXPECT_THAT(h.worker("liar").labels_json, HasSubstr("vision")) << "which its page says";
}

TEST(LabelsAsked, MayBeWhatAWorkerSaysOfItsMachine) {
  Harness h;
  h.submit(placed("a", {.require = {{"node/gpu-name", "NVIDIA H100*"}}, .prefer = {}}));
  h.join_labeled("older", "o", {.granted = {}, .announced = {{"node/gpu-name", "NVIDIA A100"}}});
  EXPECT_FALSE(h.ask("o"));
  h.join_labeled("newer", "n", {.granted = {}, .announced = {{"node/gpu-name", "NVIDIA H100 80GB"}}});
  EXPECT_TRUE(h.ask("n"));
}

TEST(LabelsAsked, HoldAfterARestartAndANewSubmission) {
  Harness h;
  h.submit(placed("a", kVision));
  h.join("plain", "p");
  h.restart();
  h.join("plain", "p");
  EXPECT_FALSE(h.ask("p"));
  h.submit(placed("a", {}));
  EXPECT_TRUE(h.ask("p")) << "it asks for nothing any more";
}

TEST(LabelsAsked, AreThoseOfAnyExperimentThatWantsTheStage) {
  Harness h;
  h.submit(placed("a", kVision, "first"));
  h.submit(placed("a", {.require = {{"pool", "text"}}, .prefer = {}}, "second"));
  h.join("plain", "p");
  EXPECT_FALSE(h.ask("p"));
  h.join_labeled("text", "t", {.granted = {{"pool", "text"}}, .announced = {}});
  EXPECT_TRUE(h.ask("t"));
  EXPECT_FALSE(h.ask("t"));
}

TEST(LabelsPreferred, DecideAmongWorkersThatAskAtOnce) {
  Harness h;
  h.join("plain", "p");
  h.join_labeled("near", "n", {.granted = {{"zone", "a"}}, .announced = {}});
  const ReplyToken first = h.ask_and_wait("p", "r1"), second = h.ask_and_wait("n", "r2");
  h.submit(placed("a", {.require = {}, .prefer = {{"zone", "a"}}}));
  EXPECT_TRUE(h.granted(second));
  EXPECT_FALSE(h.granted(first));
  h.submit(placed("b", {.require = {}, .prefer = {{"zone", "a"}}}, "other"));
  EXPECT_TRUE(h.granted(first)) << "who is there takes it";
}

WorkerLabels gpu(const std::string& name) { return {.granted = {}, .announced = {{"node/gpu-name", name}}}; }

class HardwareAlike : public ::testing::Test {
 protected:
  HardwareAlike() {
    h.join("nameless", "n");
    h.join_labeled("first", "a", gpu("A10"));
    h.join_labeled("second", "b", gpu("H100"));
  }
  Matrix cells(std::vector<std::string> names, const std::string& experiment = "placed") const {
    Matrix matrix = placed("", alike, experiment);
    matrix.cells = std::move(names);
    return matrix;
  }
  const PlacementRules alike{.alike = {{"node/gpu-name", ""}}};
  Harness h;
};

TEST_F(HardwareAlike, IsThatOfTheWorkerThatIsGivenTheFirstStage) {
  h.submit(cells({"a", "b", "c"}));
  EXPECT_FALSE(h.ask("n")) << "it does not say what it has";
  EXPECT_TRUE(h.ask("b"));
  EXPECT_FALSE(h.ask("a"));
  h.join_labeled("third", "c", gpu("H100"));
  EXPECT_TRUE(h.ask("c"));
}

TEST_F(HardwareAlike, HoldsAfterARestartAndAnExtension) {
  h.submit(cells({"a", "b"}));
  ASSERT_TRUE(h.ask("b"));
  h.restart();
  h.join_labeled("first", "a", gpu("A10"));
  EXPECT_THAT(h.explain(h.train("b")), HasSubstr("1 of 1 worker that could run it has no node/gpu-name=H100, on which "
                                                 "it began (placement.alike)"));
  h.join_labeled("second", "b", gpu("H100"));
  EXPECT_FALSE(h.ask("a"));
  h.submit(cells({"a", "b", "c"}));
  EXPECT_FALSE(h.ask("a"));
  EXPECT_TRUE(h.ask("b"));
}

TEST_F(HardwareAlike, WaitsForWhoeverHasItAndSaysWhyThatOneDoesNotRunIt) {
  h.submit(cells({"a", "b"}));
  ASSERT_TRUE(h.ask("b"));
  ASSERT_TRUE(h.drain("second", Drain::kNoNewWork));
  EXPECT_THAT(h.explain(h.train("b")), HasSubstr("(placement.alike); second, of that kind, drains"));
  ASSERT_TRUE(h.drain("second", Drain::kNone));
  WorkerRegistered without;
  without.name = "second";
  without.session = "b2";
  without.host = "host";
  without.slots_json = "[]";
  without.slots = {{"cpu", 0, 1}};
  without.labels = gpu("H100");
  without.revisions = Harness::default_revisions();
  without.revisions.erase("prior/b");
  without.take_over = true;
  ASSERT_TRUE(h.announce(without));
  EXPECT_THAT(h.explain(h.train("b")), HasSubstr("(placement.alike); second, of that kind, lacks prior/b"));
}

TEST_F(HardwareAlike, IsOfEachExperimentAlone) {
  h.submit(cells({"a", "b"}));
  h.submit(cells({"c", "d"}, "other"));
  ASSERT_TRUE(h.ask("b"));
  EXPECT_TRUE(h.ask("a")) << "it begins the other one";
  EXPECT_FALSE(h.ask("n"));
}

TEST_F(HardwareAlike, IsSettledByAStageThatAnotherExperimentBrought) {
  h.submit({.name = "free", .cells = {"a"}, .evaluate = false});
  h.submit(cells({"a", "b"}));
  ASSERT_TRUE(h.ask("a"));
  EXPECT_FALSE(h.ask("b"));
  EXPECT_TRUE(h.ask("a"));
}

TEST(LabelsAsked, AreCountedClauseByClauseInTheExplanation) {
  Harness h;
  h.submit(placed("a", {.require = {{"pool", "vision"}, {"zone", "a"}}, .prefer = {}}));
  h.join_labeled("one", "s1", {.granted = {{"pool", "vision"}}, .announced = {}});
  h.join_labeled("two", "s2", {.granted = {{"zone", "a"}}, .announced = {}});
  h.join("three", "s3");
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("2 of 3 workers that could run it have no pool=vision, 2 of 3 workers "
                                                 "that could run it have no zone=a"));
}

}  // namespace
}  // namespace locus::testing

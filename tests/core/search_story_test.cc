// A search's log as people read it, and its best value against what was spent.
#include "core/analysis/search_story.h"

#include <gmock/gmock.h>

#include "core/analysis/tuned.h"

namespace locus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kStepsPerEpoch = 10;

// Two groups of two proposals with a trial each, halved after epoch 1 of 3.
SearchSetup halved() {
  SearchSetup out;
  out.search.proposer = Proposer::kSobol;
  out.search.space = {{"train.lr", Dimension::Kind::kLog, 1e-4, 1e-2}};
  out.search.proposals = 2;
  out.search.advance.rule = AdvanceRule::kHalve;
  out.search.advance.rungs = {1, 3};
  out.search.advance.keep = {1, 2};
  out.groups = {R"({"prior":[{"none":{}}]})", R"({"prior":[{"violin":{}}]})"};
  for (std::int64_t unit = 0; unit < 4; ++unit)
    out.units.push_back({.group = unit % 2, .proposal = unit / 2, .cell = unit, .trials = {10 + unit}});
  out.metric = "top1";
  out.split = "validation";
  out.steps_per_epoch = kStepsPerEpoch;
  out.last_step = 3 * kStepsPerEpoch;
  return out;
}

class Story : public testing::Test {
 protected:
  void add(const SearchDecision& decision, std::int64_t generation = 1) {
    DecisionRow row = written(decision);
    row.number = static_cast<std::int64_t>(log_.size()) + 1;
    row.generation = generation;
    const absl::Status taken = fold_.take(row);
    ASSERT_TRUE(taken.ok()) << taken;
    log_.push_back(std::move(row));
  }
  void observe(std::int64_t trial, std::int64_t step, std::optional<double> value) {
    ObserveDecision seen;
    seen.trial = trial;
    seen.step = step;
    seen.value = value;
    add(seen);
  }
  void to_the_barrier() {
    add(BeginDecision{halved()});
    add(ProposeDecision{{0, 1, 2, 3}, {}, Json::object()});
    observe(10, kStepsPerEpoch, 50);
    observe(11, kStepsPerEpoch, 40);
    observe(12, kStepsPerEpoch, 55);
    observe(13, kStepsPerEpoch, std::nullopt);
    add(AdvanceDecision{{2, 1}, 1, {0, 3}});
  }
  std::vector<std::string> sentences() {
    SetupsSoFar setups;
    std::vector<std::string> out;
    for (const DecisionRow& row : log_) {
      const auto decision = setups.take(row);
      EXPECT_TRUE(decision.ok()) << decision.status();
      if (decision.ok()) out.push_back(decision_text(*setups.of(row.phase), *decision));
    }
    return out;
  }

  Fold fold_;
  std::vector<DecisionRow> log_;
};

TEST_F(Story, TellsEachDecisionInASentence) {
  to_the_barrier();
  add(StopDecision{{1}, 1, 20, false, "its best is below the median"});
  add(OverrideDecision{{1}, true, -1, "it was a bad seed"});
  const std::vector<std::string> told = sentences();
  ASSERT_EQ(told.size(), 9U);
  EXPECT_EQ(told[0], "the search begins: 4 units in 2 groups, judged by top1 on validation");
  EXPECT_EQ(told[1], "begin: 4 units (trials 10, 11, 12, 13)");
  EXPECT_EQ(told[2], "trial 10 has top1 50 at step 10");
  EXPECT_EQ(told[5], "trial 13 has no top1 at step 10, for good");
  EXPECT_EQ(told[6], "2 units (trials 11, 12) go on to epoch 3; 2 units will not");
  EXPECT_EQ(told[7], "1 unit (trial 11) stops at step 20: its best is below the median");
  EXPECT_EQ(told[8], "1 unit (trial 11) may go on to the end by request: it was a bad seed");
}

TEST_F(Story, NamesTheTrialsThatADecisionIsOf) {
  const SearchSetup setup = halved();
  EXPECT_THAT(trials_of(setup, AdvanceDecision{{2, 1}, 1, {0}}), ElementsAre(10, 11, 12));
  EXPECT_THAT(trials_of(setup, BeginDecision{setup}), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(trials_of(setup, EndDecision{"done"}), IsEmpty());
  EXPECT_THAT(trials_of(setup, ProposeDecision{{99}, {}, Json::object()}), IsEmpty()) << "no such unit";
}

TEST_F(Story, SaysWhatWasChosenAndWhereNobodyWasLeft) {
  ChosenCandidate one{R"({"prior":"violin"})", R"({"train.lr":0.001})", 71.25, 0.5, 5, 4, ""};
  ChosenCandidate nobody{R"({"prior":"none"})", "", std::nullopt, std::nullopt, 0, 0, ""};
  EXPECT_EQ(decision_text(halved(), ChooseDecision{{one, nobody}}),
            "chosen: for violin train.lr 0.001 (71.25, 0.5 ahead); for none nothing, since nobody was left");
}

TEST_F(Story, WritesAssignmentsAsShortAsPeopleDo) {
  EXPECT_EQ(assignment_text(R"({"dataset":"dtd","prior":[{"none":{}},{"violin":{}}],"train.lr":0.1})"),
            "dtd, none + violin, train.lr 0.1");
  EXPECT_EQ(assignment_text("{}"), "");
}

TEST_F(Story, RefusesARowOfAPhaseThatHasNotBegun) {
  SetupsSoFar setups;
  DecisionRow row = written(EndDecision{"done"});
  row.number = 1;
  EXPECT_EQ(setups.take(row).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(Story, GrowsTheBestOfEachGroupWithWhatItWasGranted) {
  to_the_barrier();
  observe(12, kToTheEnd, 60);
  observe(11, kToTheEnd, 39);
  const auto curves = best_so_far(fold_, 0, log_);
  ASSERT_TRUE(curves.ok()) << curves.status();
  ASSERT_EQ(curves->size(), 2U);
  // Each group: two units for an epoch, then one of them for the other two.
  std::vector<std::pair<double, double>> first, second;
  for (const BestPoint& one : (*curves)[0]) first.emplace_back(one.epochs, one.value);
  for (const BestPoint& one : (*curves)[1]) second.emplace_back(one.epochs, one.value);
  EXPECT_THAT(first, ElementsAre(Pair(2, 50), Pair(2, 55), Pair(4, 60)));
  EXPECT_THAT(second, ElementsAre(Pair(2, 40), Pair(4, 40))) << "what was spent since is seen to have brought nothing";
  EXPECT_EQ((*curves)[0].back().trial, 12);
}

TEST_F(Story, KnowsWhoWasNotSentToTheEnd) {
  to_the_barrier();
  const auto found = standings(fold_);
  EXPECT_EQ(found.at(0), kParked);
  EXPECT_FALSE(found.contains(2));
  EXPECT_FALSE(found.contains(1));
}

}  // namespace
}  // namespace locus

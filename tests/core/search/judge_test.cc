// What the rules answer to the log of a search.
#include "core/search/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/search/halving.h"
#include "tests/core/search/history.h"

namespace locus {
namespace {

using search_tests::asha_setup;
using search_tests::choose_among_all;
using search_tests::halving_setup;
using search_tests::History;
using search_tests::setup_of_cells;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<std::int64_t> rungs_of(const History& history) {
  std::vector<std::int64_t> out;
  for (const UnitCourse& unit : history.fold().units(0)) out.push_back(unit.rung);
  return out;
}

const std::string& end_of(const History& history) { return history.fold().reason(0); }

TEST(Judge, SendsAllUnitsToTheEndWhereNothingAdvances) {
  History history(setup_of_cells(3, 2));
  EXPECT_EQ(history.settle(), 1);
  EXPECT_THAT(history.fold().wants(),
              ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0), Pair(3, 0), Pair(4, 0), Pair(5, 0)));
  search_tests::run_to_the_end(history, [](auto trial, auto) { return 0.1 * static_cast<double>(trial); });
  EXPECT_TRUE(history.fold().ended());
  EXPECT_EQ(end_of(history), "3 of 3 units got to the end");
  EXPECT_EQ(history.broken(), "");
}

TEST(Judge, LetsNoMoreBeUnfinishedThanParallelAllows) {
  SearchSetup setup = setup_of_cells(5);
  setup.search.parallel = 2;
  History history(setup);
  history.settle();
  EXPECT_EQ(history.fold().wants().size(), 2U);
  history.observe(1, kToTheEnd, 0.5);
  history.settle();
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0)));
}

TEST(Judge, HalvesWholeRungs) {
  History history(halving_setup(6));
  history.settle();
  EXPECT_THAT(history.fold().wants(), testing::SizeIs(6));
  EXPECT_EQ(history.fold().wants().at(0), 30);
  const std::vector<double> values = {.1, .5, .3, .9, .2, .4};
  for (std::int64_t i = 0; i < 5; ++i) history.observe(i, 30, values[static_cast<std::size_t>(i)]);
  EXPECT_EQ(history.settle(), 0) << "one is missing";
  EXPECT_THAT(expected_next(history.fold()),
              testing::Contains(HasSubstr("epoch 3: 5 of 6 are there, the best 2 go on")));
  EXPECT_THAT(explain_unit(history.fold(), 0, 1), HasSubstr("parked at epoch 3: 2nd of 5 with 0.5"));
  history.observe(5, 30, .4);
  EXPECT_EQ(history.settle(), 1);
  EXPECT_THAT(rungs_of(history), ElementsAre(0, 1, 0, 1, 0, 0));
  const auto wants = history.fold().wants();
  EXPECT_EQ(wants.at(3), 90);
  EXPECT_EQ(wants.at(0), kNoFurther) << "a barrier settles for good who does not go on";
  history.observe(1, 90, .7);
  history.observe(3, 90, .6);
  history.settle();
  EXPECT_EQ(history.fold().wants().at(1), kToTheEnd);
  history.observe(1, kToTheEnd, .8);
  history.settle();
  EXPECT_TRUE(history.fold().ended());
  EXPECT_EQ(end_of(history), "1 of 6 units got to the end");
  EXPECT_EQ(history.fold().spent(0).epochs, 6 * 3 + 2 * 6 + 18);
}

TEST(Judge, HalvesAlikeInEveryOrderOfArrival) {
  std::vector<std::int64_t> order = {0, 1, 2, 3, 4, 5};
  std::set<std::multiset<std::string>> seen;
  int histories = 0;
  do {
    History history(halving_setup(6));
    history.settle();
    for (const std::int64_t trial : order) {
      history.observe(trial, 30, trial == 4 ? .25 : .5 - .125 * static_cast<double>(trial % 2));
      history.settle();
    }
    seen.insert(search_tests::verdicts(history));
    ++histories;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(histories, 720);
  EXPECT_EQ(seen.size(), 1U);
}

TEST(Judge, TakesAFailureForTheWorstAndPassesTheBarrier) {
  History history(halving_setup(3, 2));
  history.settle();
  for (std::int64_t trial = 0; trial < 6; ++trial) {
    history.observe(trial, 30, trial == 3 ? std::nullopt : std::optional(trial == 5 ? std::nan("") : .9));
  }
  history.settle();
  EXPECT_EQ(history.unit(1).state, UnitState::kFailed) << "one of its seeds failed";
  EXPECT_EQ(history.unit(2).state, UnitState::kFailed) << "one of its seeds diverged";
  EXPECT_THAT(rungs_of(history), ElementsAre(1, 0, 0));
  EXPECT_THAT(history.fold().lost(), ElementsAre(DueValue{3, 30}, DueValue{5, 30}));
}

TEST(Judge, PromotesLateWhatARerunBringsAndDemotesNobody) {
  History history(halving_setup(6));
  history.settle();
  for (std::int64_t trial = 0; trial < 6; ++trial)
    history.observe(trial, 30, trial == 0 ? std::nullopt : std::optional(.1 * static_cast<double>(trial)));
  history.settle();
  EXPECT_THAT(rungs_of(history), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_EQ(history.fold().wants().at(0), 30) << "what failed is no loser of the barrier: a rerun goes as far";
  history.observe(0, 30, .95);
  history.settle();
  EXPECT_THAT(rungs_of(history), ElementsAre(1, 0, 0, 0, 1, 1));
  history.observe(4, 90, .5);
  history.observe(5, 90, .6);
  EXPECT_EQ(history.settle(), 0) << "the next barrier waits for the late one";
  history.observe(0, 90, .7);
  history.settle();
  EXPECT_THAT(rungs_of(history), ElementsAre(2, 0, 0, 0, 1, 1));
}

TEST(Judge, EndsWhereEverybodyFailed) {
  History history(halving_setup(2));
  search_tests::run_to_the_end(history, [](auto, auto) { return std::nullopt; });
  EXPECT_EQ(end_of(history), "nobody is left: all 2 units failed");
}

TEST(Judge, HalvesEachGroupByItself) {
  History history(halving_setup(3, 1, 2));
  history.settle();
  // Trials alternate between the groups.
  for (std::int64_t trial = 0; trial < 6; trial += 2) history.observe(trial, 30, .1 * static_cast<double>(trial));
  history.settle();
  EXPECT_THAT(rungs_of(history), ElementsAre(0, 0, 0, 0, 1, 0));
}

TEST(Judge, GrantsSeedsAsItGrantsEpochs) {
  SearchSetup setup = halving_setup(3, 4);
  setup.search.advance.resource = SearchResource::kSeeds;
  setup.search.advance.rungs = {1, 2, 4};
  setup.search.advance.keep = {1, 2};
  History history(setup);
  history.settle();
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(4, 0), Pair(8, 0)));
  history.observe(0, kToTheEnd, .3);
  history.observe(4, kToTheEnd, .9);
  history.observe(8, kToTheEnd, .5);
  history.settle();
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(4, 0), Pair(5, 0), Pair(8, 0)));
  EXPECT_EQ(history.fold().spent(0).stages, 4);
}

TEST(Judge, TrainsEachRungAnewWhereTheHorizonIsTheRung) {
  SearchSetup setup = halving_setup(3);
  setup.search.horizon = SearchHorizon::kRung;
  for (SearchUnitRow& unit : setup.units) unit.later_rungs = {{unit.trials[0] + 3}, {unit.trials[0] + 6}};
  History history(setup);
  history.settle();
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0)));
  EXPECT_THAT(history.fold().due(), ElementsAre(DueValue{0, 0}, DueValue{1, 0}, DueValue{2, 0}));
  for (std::int64_t trial = 0; trial < 3; ++trial) history.observe(trial, 0, trial == 1 ? .9 : .1);
  history.settle();
  EXPECT_THAT(history.fold().due(), ElementsAre(DueValue{4, 0}));
  EXPECT_EQ(history.fold().spent(0).epochs, 9 + 9);
}

TEST(Judge, PromotesAsynchronouslyAsTheAlgorithmSaysWithOneSlot) {
  SearchSetup setup = asha_setup(9);
  setup.search.advance.rungs = {1, 3, 9};
  setup.last_step = 90;
  setup.search.parallel = 1;
  History history(setup);
  const std::vector<double> finals = {.1, .2, .3, .15, .9, .25, .05, .5, .4};
  std::vector<std::string> asked;
  history.settle();
  for (auto due = history.fold().due(); !due.empty(); due = history.fold().due()) {
    ASSERT_EQ(due.size(), 1U);
    const auto unit = due[0].trial;
    const std::int64_t rung = history.unit(unit).rung;
    asked.push_back(std::to_string(unit) + "@" + std::to_string(rung));
    history.observe(unit, due[0].step, finals[static_cast<std::size_t>(unit)] + .01 * static_cast<double>(rung));
    history.settle();
  }
  EXPECT_THAT(asked, ElementsAre("0@0", "1@0", "2@0", "2@1", "3@0", "4@0", "4@1", "5@0", "6@0", "7@0", "7@1", "4@2",
                                 "8@0", "8@1"));
  EXPECT_EQ(history.fold().spent(0).epochs, 9 + 4 * 2 + 6);
}

TEST(Judge, StopsOnArrivalWhereNothingParks) {
  SearchSetup setup = asha_setup(9);
  setup.search.advance.park = false;
  History history(setup);
  history.settle();
  EXPECT_EQ(history.fold().wants().at(0), 90) << "one rung ahead, so that nobody waits for a verdict";
  const std::vector<double> finals = {.1, .2, .3, .15, .9, .25, .05, .5, .4};
  std::string stopped;
  for (std::int64_t trial = 0; trial < 9; ++trial) {
    history.observe(trial, 30, finals[static_cast<std::size_t>(trial)]);
    EXPECT_EQ(history.settle(), 1);
    stopped += history.unit(trial).state == UnitState::kStopped ? 'Y' : 'n';
  }
  EXPECT_EQ(stopped, "nnnYnYYnn");
  EXPECT_EQ(history.fold().wants().at(3), 30) << "kept where it stopped, so that a person may overrule";
  EXPECT_EQ(history.fold().wants().at(0), 270);
  EXPECT_EQ(explain_unit(history.fold(), 0, 3),
            "stopped at epoch 3: asha: 0.15 at rung 3 is place 3 of the 4 that were there, and one of 3 goes on");
}

TEST(Judge, FillsTheBracketsOfHyperbandInOrder) {
  SearchSetup setup = setup_of_cells(22);
  setup.search.advance.rule = AdvanceRule::kHyperband;
  setup.search.advance.brackets = hyperband(9, 3);
  setup.last_step = 90;
  std::vector<std::int64_t> sizes;
  for (const Bracket& bracket : setup.search.advance.brackets) sizes.push_back(bracket.units.front());
  ASSERT_THAT(sizes, ElementsAre(9, 5, 3));
  History history(setup);
  search_tests::run_to_the_end(history,
                               [](auto trial, auto) { return std::fmod(static_cast<double>(trial) * .37, 1); });
  std::map<std::pair<std::int64_t, std::int64_t>, int> at;  // bracket, rung
  for (const UnitCourse& unit : history.fold().units(0)) ++at[{unit.bracket, unit.rung}];
  EXPECT_THAT(at, ElementsAre(Pair(Pair(-1, -1), 5), Pair(Pair(0, 0), 6), Pair(Pair(0, 1), 2), Pair(Pair(0, 2), 1),
                              Pair(Pair(1, 0), 4), Pair(Pair(1, 1), 1), Pair(Pair(2, 0), 3)));
  EXPECT_TRUE(history.fold().ended());
}

TEST(Judge, HoldsEveryBudget) {
  for (const auto rule : {AdvanceRule::kNone, AdvanceRule::kHalve, AdvanceRule::kAsha}) {
    for (std::int64_t limit = 1; limit < 90; limit += 4) {
      for (const int what : {0, 1, 2}) {
        SearchSetup setup = halving_setup(9, 2);
        setup.search.advance.rule = rule;
        if (rule == AdvanceRule::kNone) setup.search.advance.rungs.clear();
        SearchBudget& budget = setup.search.budget;
        if (what == 0) budget.epochs = static_cast<double>(limit);
        if (what == 1) budget.stages = limit;
        if (what == 2) budget.proposals = limit;
        History history(setup);
        search_tests::run_to_the_end(history, [](auto trial, auto) { return static_cast<double>(trial * 7 % 5); });
        EXPECT_TRUE(history.fold().ended()) << to_string(rule) << " " << what << " " << limit;
        const Fold::Spent spent = history.fold().spent(0);
        if (what == 0) {
          EXPECT_LE(spent.epochs, static_cast<double>(limit));
        }
        if (what == 1) {
          EXPECT_LE(spent.stages, limit);
        }
        if (what == 2) {
          EXPECT_LE(spent.proposals, limit);
        }
        if (what == 2 && limit < 9) {
          EXPECT_THAT(end_of(history), HasSubstr("the budget leaves no room for the next"));
        }
      }
    }
  }
}

TEST(Judge, EndsWhenTheTargetIsReachedButNotWhatRuns) {
  SearchSetup setup = setup_of_cells(4);
  setup.search.parallel = 2;
  setup.search.budget.target = SearchBudget::Target{"", .8, std::nullopt};
  History history(setup);
  history.settle();
  history.observe(0, kToTheEnd, .85);
  EXPECT_EQ(history.settle(), 0) << "the other one runs on";
  history.observe(1, kToTheEnd, .1);
  history.settle();
  EXPECT_EQ(end_of(history), "the target is reached: top1 0.85 is at least 0.8");
  EXPECT_EQ(history.fold().wants().size(), 2U);
}

TEST(Judge, EndsWhenTheSlotHoursAreSpent) {
  SearchSetup setup = setup_of_cells(4);
  setup.search.parallel = 1;
  setup.search.budget.slot_hours = 2;
  History history(setup);
  history.settle();
  history.observe(0, kToTheEnd, .85);
  history.settle(2.5);
  EXPECT_EQ(end_of(history), "the budget of 2 slot hours is spent");
}

TEST(Judge, ProposesNothingOfItsOwnWhereAClientDoes) {
  SearchSetup setup = setup_of_cells(0);
  setup.search.proposer = Proposer::kExternal;
  setup.search.parallel = 2;
  setup.search.budget.proposals = 3;
  History history(setup);
  EXPECT_EQ(history.settle(), 0);
  EXPECT_THAT(expected_next(history.fold()), ElementsAre("a client's next proposal"));
  EXPECT_EQ(refuses_proposals(history.fold(), 2), std::nullopt);
  EXPECT_EQ(refuses_proposals(history.fold(), 3), "0 of 2 proposals at a time are unfinished");
  const auto propose = [&](std::int64_t unit) {
    ProposeDecision proposed;
    proposed.units = {unit};
    proposed.added = {{0, unit, unit, {unit}}};
    DecisionRow row = written(proposed);
    row.request_id = "ask-" + std::to_string(unit);
    EXPECT_EQ(disagreement(history.fold(), row), std::nullopt);
    history.add(row);
    EXPECT_EQ(history.settle(), 0);
  };
  propose(0);
  propose(1);
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(1, 0)));
  history.observe(0, kToTheEnd, .1);
  history.observe(1, kToTheEnd, .2);
  EXPECT_EQ(history.settle(), 0) << "a third may come";
  propose(2);
  history.observe(2, kToTheEnd, .3);
  history.settle();
  EXPECT_TRUE(history.fold().ended());
  EXPECT_EQ(refuses_proposals(history.fold(), 1), "the search has ended");
}

TEST(Judge, SaysWhyEachUnitIsWhereItIs) {
  SearchSetup setup = halving_setup(4, 2);
  setup.search.parallel = 2;
  History history(setup);
  history.settle();
  EXPECT_EQ(explain_unit(history.fold(), 0, 0), "on its way to epoch 3");
  EXPECT_EQ(explain_unit(history.fold(), 0, 3), "waits for its turn: at most 2 are unfinished at a time");
  history.observe(0, 30, std::nullopt);
  history.observe(1, 30, .5);
  history.settle();
  EXPECT_EQ(explain_unit(history.fold(), 0, 0), "judged worst at epoch 3: 1 of 2 trials failed or diverged");
  EXPECT_THAT(expected_next(history.fold()),
              ElementsAre("1 unit to begin, at most 2 unfinished at a time",
                          "epoch 3: 1 of 4 are there, the best 1 go on", "2 units under way"));
}

}  // namespace
}  // namespace locus

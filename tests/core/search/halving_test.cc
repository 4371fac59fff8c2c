// Successive halving as its authors have it, and how much of a search that makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/search/figures.h"
#include "core/search/halving.h"
#include "core/search/proposal.h"
#include "tests/core/search/history.h"

namespace locus {
namespace {

using search_tests::History;
using testing::ElementsAre;

const double kDiverged = std::nan("");

// Who goes on from a rung where these scores arrive in this order; by rank.
std::vector<std::int64_t> halved(const std::vector<double>& scores, Share keep, std::vector<std::size_t> order = {}) {
  SearchSetup setup = search_tests::halving_setup(std::ssize(scores));
  setup.search.advance.keep = keep;
  History history(setup);
  history.settle();
  for (std::size_t i = order.size(); i < scores.size(); ++i) order.push_back(i);
  for (const std::size_t unit : order) history.observe(static_cast<std::int64_t>(unit), 30, scores[unit]);
  const auto verdict = judge(history.fold());
  const auto* advance = verdict ? std::get_if<AdvanceDecision>(&verdict->decision) : nullptr;
  return advance == nullptr ? std::vector<std::int64_t>() : advance->units;
}

TEST(Halving, KeepsTheBestThird) { EXPECT_THAT(halved({.1, .5, .3, .9, .2, .4}, {1, 3}), ElementsAre(3, 1)); }

TEST(Halving, KeepsOneAtLeastAndNothingThatDiverged) {
  EXPECT_THAT(halved({.1, .5}, {1, 3}), ElementsAre(1));
  EXPECT_THAT(halved({kDiverged, .1, worst_score()}, {2, 3}), ElementsAre(1));
  EXPECT_TRUE(halved({kDiverged, kDiverged}, {1, 2}).empty());
}

TEST(Halving, BreaksTiesByIndex) { EXPECT_THAT(halved({.5, .7, .7, .7}, {1, 2}), ElementsAre(1, 2)); }

TEST(Halving, KeepsTheSameUnitsInWhateverOrderTheyArrive) {
  std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    EXPECT_THAT(halved({.1, .5, .3, .9, .2, .4}, {1, 2}, order), ElementsAre(3, 1, 5));
  } while (std::next_permutation(order.begin(), order.end()));
}

const std::vector<double> kFinal = {.1, .2, .3, .15, .9, .25, .05, .5, .4};

// One slot runs asynchronous halving: unit and rung of whatever it trains, in order.
std::vector<std::pair<std::int64_t, std::int64_t>> one_slot(const std::vector<double>& finals) {
  SearchSetup setup = search_tests::asha_setup(std::ssize(finals));
  setup.search.parallel = 1;
  History history(setup);
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  history.settle();
  for (auto due = history.fold().due(); !due.empty(); due = history.fold().due()) {
    const std::int64_t unit = due.front().trial, rung = history.unit(unit).rung;
    out.emplace_back(unit, rung);
    history.observe(unit, due.front().step, finals[static_cast<std::size_t>(unit)] + .01 * static_cast<double>(rung));
    history.settle();
  }
  EXPECT_EQ(history.broken(), "");
  return out;
}

TEST(AsynchronousHalving, OfOneSlotPromotesAsTheAlgorithmSays) {
  std::vector<std::string> trace;
  const auto trained = one_slot(kFinal);
  for (const auto& [unit, rung] : trained) trace.push_back(std::to_string(unit) + "@" + std::to_string(rung));
  EXPECT_THAT(trace, ElementsAre("0@0", "1@0", "2@0", "2@1", "3@0", "4@0", "4@1", "5@0", "6@0", "7@0", "7@1", "4@2",
                                 "8@0", "8@1"));
}

TEST(AsynchronousHalving, PromotesNobodyWhoIsOnTheWayOrDiverged) {
  History history(search_tests::asha_setup(3));
  history.settle();
  history.observe(0, 30, .9);
  history.observe(1, 30, kDiverged);
  history.observe(2, 30, .1);
  EXPECT_EQ(history.settle(), 1) << "of three one goes on";
  EXPECT_EQ(history.unit(0).rung, 1);
  EXPECT_EQ(history.unit(2).rung, 0) << "the best third is unit 0, which is on its way";
  History diverged(search_tests::asha_setup(3));
  diverged.settle();
  for (std::int64_t unit = 0; unit < 3; ++unit) diverged.observe(unit, 30, kDiverged);
  diverged.settle();
  EXPECT_TRUE(diverged.fold().ended());
  EXPECT_EQ(diverged.unit(0).rung, 0);
}

TEST(StoppingHalving, JudgesEachOnArrival) {
  SearchSetup setup = search_tests::asha_setup(std::ssize(kFinal) + 1);
  setup.search.advance.park = false;
  History history(setup);
  history.settle();
  std::string answers;
  for (std::int64_t unit = 0; unit < std::ssize(kFinal); ++unit) {
    history.observe(unit, 30, kFinal[static_cast<std::size_t>(unit)]);
    history.settle();
    answers += history.unit(unit).state == UnitState::kStopped ? 'Y' : 'n';
  }
  EXPECT_EQ(answers, "nnnYnYYnn");
  history.observe(std::ssize(kFinal), 30, kDiverged);
  history.settle();
  EXPECT_EQ(history.unit(std::ssize(kFinal)).state, UnitState::kFailed);
}

// How many units of one slot's halving get to each of three rungs.
std::vector<std::int64_t> reached_by_asha(const std::vector<double>& finals) {
  std::vector<std::int64_t> out(3, 0);
  const auto trained = one_slot(finals);
  for (const auto& [unit, rung] : trained) ++out[static_cast<std::size_t>(rung)];
  return out;
}

Search asha_of(std::int64_t eta, std::vector<std::int64_t> rungs) {
  Search out;
  out.advance.rule = AdvanceRule::kAsha;
  out.advance.eta = eta;
  out.advance.rungs = std::move(rungs);
  return out;
}

TEST(SearchFigures, OfHalvingAreThoseOfTheRule) {
  Search search;
  search.advance.rule = AdvanceRule::kHalve;
  search.advance.rungs = {1, 3, 9};
  const SearchFigures nine = figures_of(search, {.cells = {9}, .epochs = 9});
  EXPECT_EQ(nine.most_epochs, 21);
  EXPECT_TRUE(nine.exact());
  for (std::int64_t n = 1; n < 60; ++n) {
    const SearchFigures figures = figures_of(search, {.cells = {n}, .epochs = 9});
    std::vector<double> scores(static_cast<std::size_t>(n), 1.0);
    for (const RungCount& rung : figures.brackets[0]) {
      EXPECT_EQ(rung.most, static_cast<std::int64_t>(scores.size())) << n;
      scores.resize(halved(scores, search.advance.keep).size());
    }
  }
}

TEST(SearchFigures, BoundWhatAsynchronousHalvingRuns) {
  std::uint64_t state = 1;
  const Search search = asha_of(3, {1, 3, 9});
  const auto bounds = figures_of(search, {.cells = {20}, .epochs = 9}).brackets[0];
  std::vector<double> order(20);
  std::iota(order.begin(), order.end(), 0.0);
  bool most = false;
  for (int repeat = 0; repeat < 500; ++repeat) {
    const std::vector<std::int64_t> reached = reached_by_asha(order);
    for (std::size_t rung = 0; rung < 3; ++rung) {
      EXPECT_GE(reached[rung], bounds[rung].least);
      EXPECT_LE(reached[rung], bounds[rung].most);
      most = most || (rung == 2 && reached[rung] == bounds[rung].most);
    }
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[(state = mix(state)) % i]);
  }
  EXPECT_TRUE(most) << "in order of rank everything that may go on does: the bound is reached";
}

TEST(SearchFigures, OfNineTrialsHoldTheKnownRuns) {
  const Search search = asha_of(3, {1, 3, 9});
  const SearchFigures figures = figures_of(search, {.cells = {9}, .epochs = 9});
  const std::vector<std::int64_t> reached = reached_by_asha(kFinal);
  EXPECT_THAT(reached, ElementsAre(9, 4, 1));
  const double spent = 9 + 4 * 2 + 1 * 6;
  EXPECT_LE(figures.least_epochs, spent);
  EXPECT_GE(figures.most_epochs, 39) << "an unlucky order";
  EXPECT_EQ(figures.parked, 9);
}

TEST(SearchFigures, OfHyperbandAddUpItsBrackets) {
  Search search;
  search.advance.rule = AdvanceRule::kHyperband;
  search.advance.brackets = hyperband(81, 3);
  const SearchFigures figures = figures_of(search, {.cells = {81 + 34 + 15 + 8 + 5}, .epochs = 81});
  ASSERT_EQ(figures.brackets.size(), 5U);
  EXPECT_EQ(figures.brackets[1][0].most, 34);
  EXPECT_EQ(figures.brackets[1][1].most, 11);
  EXPECT_EQ(figures.parked, 81) << "brackets follow one another";
  const SearchFigures part = figures_of(search, {.cells = {100}, .epochs = 81});
  EXPECT_EQ(part.brackets[1][0].most, 19) << "what is left for the second";
  EXPECT_EQ(part.brackets[2][0].most, 0);
}

TEST(SearchFigures, SayHowLittleAStoppingRuleOrABudgetMayLeave) {
  Search search;
  search.advance.rule = AdvanceRule::kHalve;
  search.advance.rungs = {3, 9};
  const SearchSize size{.cells = {6, 6}, .seeds = 2, .epochs = 9};
  const SearchFigures whole = figures_of(search, size);
  EXPECT_EQ(whole.most_epochs, 2 * (12 * 3 + 4 * 6));
  search.stops = {{.rule = ThresholdRule{.above = {}, .below = 15, .at = 2}, .metric = "", .field = ""}};
  EXPECT_EQ(figures_of(search, size).least_epochs, 2 * 12 * 2);
  EXPECT_EQ(figures_of(search, size).most_epochs, whole.most_epochs);
  search.stops.clear();
  search.budget.epochs = 50;
  EXPECT_EQ(figures_of(search, size).least_epochs, 50);
  search.budget.epochs.reset();
  search.budget.slot_hours = 1;
  EXPECT_EQ(figures_of(search, size).least_epochs, 6) << "one cell at its first rung";
}

}  // namespace
}  // namespace locus

// What a phase chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/search/history.h"

namespace locus {
namespace {

using search_tests::choose_among_all;
using search_tests::halving_setup;
using search_tests::History;
using search_tests::setup_of_cells;
using testing::HasSubstr;

using Seeds = std::vector<std::optional<double>>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string lr(int candidate) { return R"({"lr":)" + std::to_string(candidate) + "}"; }

// The choice among candidates, each one cell with these results; nothing: that seed failed for good.
ChosenCandidate choice_among(const std::vector<Seeds>& results, const std::string& by = "mean",
                             std::optional<std::int64_t> at_least = std::nullopt, bool maximize = true) {
  SearchSetup setup =
      setup_of_cells(static_cast<std::int64_t>(results.size()), static_cast<std::int64_t>(results.front().size()));
  choose_among_all(setup, by);
  setup.choose->at_least = at_least;
  setup.maximize = maximize;
  History history(setup);
  const auto seeds = static_cast<std::int64_t>(results.front().size());
  search_tests::run_to_the_end(history, [&](std::int64_t trial, auto) {
    return results[static_cast<std::size_t>(trial / seeds)][static_cast<std::size_t>(trial % seeds)];
  });
  EXPECT_TRUE(history.fold().ended());
  const auto* chosen = history.fold().choice(0);
  if (chosen == nullptr || chosen->size() != 1) {
    ADD_FAILURE() << "nothing was chosen";
    return {};
  }
  return chosen->front();
}

TEST(Choice, TakesTheLargestMeanAndSaysByHowMuchAndHowOften) {
  const ChosenCandidate chosen = choice_among({{.5, .5, .5}, {.75, .75, .25}, {.25, .25, 1.0}});
  EXPECT_EQ(chosen.candidate, lr(1));
  EXPECT_DOUBLE_EQ(*chosen.value, 1.75 / 3);
  EXPECT_DOUBLE_EQ(*chosen.margin, .25 / 3);
  EXPECT_EQ(chosen.seeds, 3);
  EXPECT_EQ(chosen.agreed, 2);
  EXPECT_EQ(chosen.note, "");
}

TEST(Choice, TakesTheSmallestWhereLessIsBetter) {
  const ChosenCandidate chosen = choice_among({{2, 3}, {1, 2}}, "mean", std::nullopt, false);
  EXPECT_EQ(chosen.candidate, lr(1));
  EXPECT_EQ(chosen.value, 1.5);
  EXPECT_EQ(chosen.margin, 1.0);
}

TEST(Choice, TakesTheFirstOfEqualOnes) {
  EXPECT_EQ(choice_among({{.25}, {.5}, {.5}, {.5}}).candidate, lr(1));
  EXPECT_EQ(choice_among({{.25}, {.5}, {.5}}).margin, 0.0);
}

TEST(Choice, OfOneCandidateHasNoMargin) {
  const ChosenCandidate chosen = choice_among({{.25, .5}});
  EXPECT_EQ(chosen.candidate, lr(0));
  EXPECT_EQ(chosen.margin, std::nullopt);
  EXPECT_EQ(chosen.agreed, 2);
}

TEST(Choice, LeavesOutWhoLacksASeed) {
  const ChosenCandidate chosen = choice_among({{.9, std::nullopt}, {.5, .5}, {.25, .75}});
  EXPECT_EQ(chosen.candidate, lr(1));
  EXPECT_EQ(chosen.note, "1 of 3 candidates lacks seeds and is out");
}

TEST(Choice, ComparesOnTheSeedsThatAllHaveWhereFewerSuffice) {
  // Without its first seed the second candidate is the better one; the third has too few.
  const ChosenCandidate chosen =
      choice_among({{std::nullopt, .5, .5}, {.0, .75, .5}, {std::nullopt, std::nullopt, 1.0}}, "mean", 2);
  EXPECT_EQ(chosen.candidate, lr(1));
  EXPECT_EQ(chosen.value, .625);
  EXPECT_EQ(chosen.seeds, 2);
}

TEST(Choice, TakesNaNForTheWorst) {
  const ChosenCandidate chosen = choice_among({{kNaN, 1.0}, {.1, .1}});
  EXPECT_EQ(chosen.candidate, lr(1));
  EXPECT_EQ(chosen.margin, std::nullopt) << "there is no measure of how far what diverged is behind";
  EXPECT_EQ(chosen.agreed, 1);
}

TEST(Choice, ByMedianShrugsAtOneSeed) {
  const std::vector<Seeds> results = {{.5, .5, .5}, {.75, .75, kNaN}, {.25, .25, 1.0}};
  EXPECT_EQ(choice_among(results, "median").candidate, lr(1));
  EXPECT_EQ(choice_among(results, "mean").candidate, lr(0));
  EXPECT_EQ(choice_among({{.5, .25}, {.25, .75}}, "median").value, .5);
}

TEST(Choice, SaysThatNobodyIsLeft) {
  const ChosenCandidate none = choice_among({{std::nullopt}, {std::nullopt}});
  EXPECT_EQ(none.candidate, "");
  EXPECT_EQ(none.value, std::nullopt);
  EXPECT_EQ(none.note, "nobody is left to choose: 2 of 2 candidates lack seeds and are out");
  EXPECT_EQ(choice_among({{kNaN}, {kNaN}}).candidate, "");
}

TEST(Choice, ByRankOverWhatElseVaries) {
  // Two candidates over three datasets, a cell each: the first wins by far on one, the second narrowly on two.
  SearchSetup setup = setup_of_cells(6, 2);
  SearchChoiceTerms terms;
  terms.groups = {{"{}", {{lr(0), {0, 1, 2}}, {lr(1), {3, 4, 5}}}}};
  const std::vector<double> results = {.9, .5, .5, .1, .6, .6};
  for (const std::string by : {"mean", "rank"}) {
    terms.by = by;
    setup.choose = terms;
    History history(setup);
    search_tests::run_to_the_end(
        history, [&](std::int64_t trial, auto) { return results[static_cast<std::size_t>(trial / 2)]; });
    const ChosenCandidate chosen = history.fold().choice(0)->front();
    EXPECT_EQ(chosen.candidate, by == "mean" ? lr(0) : lr(1));
    EXPECT_NEAR(*chosen.value, by == "mean" ? 1.9 / 3 : 4.0 / 3, 1e-12);
    EXPECT_NEAR(*chosen.margin, by == "mean" ? .2 : 1.0 / 3, 1e-12);
  }
}

TEST(Choice, IsMadeForEachGroup) {
  SearchSetup setup = setup_of_cells(2, 1, 2);
  SearchChoiceTerms terms;
  for (std::int64_t group = 0; group < 2; ++group)
    terms.groups.push_back({setup.groups[static_cast<std::size_t>(group)], {{lr(0), {group}}, {lr(1), {2 + group}}}});
  setup.choose = terms;
  History history(setup);
  search_tests::run_to_the_end(history, [](std::int64_t trial, auto) { return trial == 0 || trial == 3 ? .9 : .1; });
  ASSERT_EQ(history.fold().choice(0)->size(), 2U);
  EXPECT_EQ(history.fold().choice(0)->at(0).candidate, lr(0));
  EXPECT_EQ(history.fold().choice(0)->at(1).candidate, lr(1));
  EXPECT_EQ(history.fold().choice(0)->at(1).group, setup.groups[1]);
}

TEST(Choice, ConsidersOnlyWhoGotToTheEnd) {
  SearchSetup setup = halving_setup(6);
  choose_among_all(setup);
  History history(setup);
  // The best at the end is one that no other rung saw: halving let it go.
  search_tests::run_to_the_end(history, [](std::int64_t trial, std::int64_t step) {
    return step == kToTheEnd ? 1.0 - .1 * static_cast<double>(trial) : .1 * static_cast<double>(trial);
  });
  EXPECT_EQ(history.fold().choice(0)->front().candidate, lr(5));
  EXPECT_THAT(history.fold().choice(0)->front().note, HasSubstr("the rule left 5 of 6 candidates behind"));
}

TEST(Choice, OfAnUndecidedRaceSaysSo) {
  SearchSetup setup = setup_of_cells(3, 6);
  setup.search.advance.rule = AdvanceRule::kRace;
  setup.search.advance.resource = SearchResource::kSeeds;
  setup.search.advance.race.terms = {.1, .05, 3};
  setup.search.advance.race.most = 6;
  choose_among_all(setup);
  History history(setup);
  search_tests::run_to_the_end(history, [](std::int64_t trial, auto) {
    const std::int64_t unit = trial / 6, seed = trial % 6;
    if (unit == 2) return -100.0;
    return unit == seed % 2 ? 1.0 : -1.0;
  });
  EXPECT_EQ(history.fold().reason(0), "undecided between proposal 0, proposal 1 after 6 seeds");
  const ChosenCandidate chosen = history.fold().choice(0)->front();
  EXPECT_EQ(chosen.candidate, lr(0));
  EXPECT_THAT(chosen.note, HasSubstr("the race is undecided between 2 candidates"));
}

TEST(Choice, OfADecidedRaceIsItsWinner) {
  SearchSetup setup = setup_of_cells(3, 20);
  setup.search.advance.rule = AdvanceRule::kRace;
  setup.search.advance.resource = SearchResource::kSeeds;
  setup.search.advance.race.terms = {.5, .05, 5};
  setup.search.advance.race.most = 20;
  choose_among_all(setup);
  History history(setup);
  search_tests::run_to_the_end(history, [](std::int64_t trial, auto) {
    return static_cast<double>(trial / 20) + .01 * static_cast<double>(trial * 7 % 5);
  });
  EXPECT_EQ(history.fold().reason(0), "proposal 2 won after 5 seeds");
  EXPECT_EQ(history.fold().spent(0).stages, 15);
  const ChosenCandidate chosen = history.fold().choice(0)->front();
  EXPECT_EQ(chosen.candidate, lr(2));
  EXPECT_EQ(chosen.seeds, 5);
}

}  // namespace
}  // namespace locus

// The rules of searches: proposals, halving, stopping and races.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "core/search/figures.h"
#include "core/search/halving.h"
#include "core/search/proposal.h"
#include "core/search/race.h"
#include "core/search/stopping.h"

namespace locus {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kSeed = 7;
const double kNan = std::nan("");

TEST(Mix, IsSplitMix64) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix(1), 0x910a2dec89025cc1U);
  EXPECT_EQ(mix(2), 0x975835de1c9756ceU);
}

TEST(RandomProposals, AreTheSameOnEveryMachine) {
  EXPECT_DOUBLE_EQ(draws(Drawing::kRandom, kSeed, 2, 0)[0], 0.609394524568175);
  EXPECT_DOUBLE_EQ(draws(Drawing::kRandom, kSeed, 2, 1)[0], 0.9633517225922468);
  EXPECT_DOUBLE_EQ(draws(Drawing::kRandom, kSeed, 2, 2)[0], 0.2926433306793348);
  EXPECT_DOUBLE_EQ(draws(Drawing::kRandom, kSeed, 2, 0)[1], 0.43775600474440823);
}

TEST(SobolPoints, BeginWithZeroAndFollowJoeAndKuo) {
  const double expected[6][3] = {{0, 0, 0},       {.5, .5, .5},       {.75, .25, .25},
                                 {.25, .75, .75}, {.375, .375, .625}, {.875, .875, .125}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::vector<std::uint32_t> point = sobol_point(3, i);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(static_cast<double>(point[j]) * 0x1p-32, expected[i][j]) << i << j;
  }
}

TEST(SobolPoints, AreScrambledAsOwenDoes) {
  const std::uint32_t expected[2][4] = {{61284743U, 84008852U, 409992925U, 1879552486U},
                                        {2987291675U, 3008621012U, 3672120145U, 2465860868U}};
  for (std::uint64_t i = 0; i < 2; ++i) {
    const std::vector<std::uint32_t> point = sobol_point(4, i);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(owen_scrambled(point[j], kSeed, j), expected[i][j]);
  }
}

// A net: 64 points put one into each of the 64 boxes of every shape whose sides are powers of two.
TEST(SobolPoints, StayANetWhenScrambled) {
  std::vector<std::vector<double>> points;
  for (std::uint64_t i = 0; i < 64; ++i) points.push_back(draws(Drawing::kSobol, kSeed, 2, i));
  for (int rows = 1; rows <= 64; rows *= 2) {
    std::set<std::pair<int, int>> boxes;
    for (const auto& point : points)
      boxes.emplace(static_cast<int>(point[0] * rows), static_cast<int>(point[1] * (64 / rows)));
    EXPECT_EQ(boxes.size(), 64U) << rows << " rows";
  }
}

TEST(Proposals, TakeTheirValuesFromTheSpaceRoundedToDigits) {
  const Dimension rate{"train.lr", Dimension::Kind::kLog, 1e-4, 1e-2, 4, {}},
      decay{"train.weight_decay", Dimension::Kind::kLinear, 0, 0.1, 4, {}};
  const double expected[6][2] = {{0.0001068, 0.001956}, {0.002461, 0.07005},  {0.005748, 0.03315},
                                 {0.0008765, 0.08208},  {0.0003891, 0.03855}, {0.003464, 0.09005}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::vector<double> u = draws(Drawing::kSobol, kSeed, 2, i);
    EXPECT_EQ(value_at(rate, u[0]), expected[i][0]);
    EXPECT_EQ(value_at(decay, u[1]), expected[i][1]);
  }
}

TEST(Proposals, OfIntegersAndChoicesReachEveryValueAndNoOther) {
  const Dimension integers{"model.depth", Dimension::Kind::kInteger, 2, 5, 4, {}},
      choice{"train.batch", Dimension::Kind::kChoice, 0, 0, 4, {32, 64, 128}};
  std::set<Json> seen, chosen;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const std::vector<double> u = draws(Drawing::kRandom, kSeed, 2, i);
    seen.insert(value_at(integers, u[0]));
    chosen.insert(value_at(choice, u[1]));
  }
  EXPECT_THAT(seen, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(chosen, ElementsAre(32, 64, 128));
  EXPECT_EQ(value_at(integers, std::nextafter(1.0, 0.0)), 5);
}

TEST(Halving, KeepsTheBestThird) { EXPECT_THAT(halved({.1, .5, .3, .9, .2, .4}, {1, 3}), ElementsAre(3, 1)); }

TEST(Halving, KeepsOneAtLeastAndNothingThatDiverged) {
  EXPECT_THAT(halved({.1, .5}, {1, 3}), ElementsAre(1));
  EXPECT_THAT(halved({kNan, .1, worst_score()}, {2, 3}), ElementsAre(1));
  EXPECT_TRUE(halved({kNan, kNan}, {1, 2}).empty());
}

TEST(Halving, BreaksTiesByIndex) { EXPECT_THAT(halved({.5, .7, .7, .7}, {1, 2}), ElementsAre(1, 2)); }

TEST(Halving, KeepsTheSameUnitsInWhateverOrderTheyArrive) {
  const std::vector<double> scores = {.1, .5, .3, .9, .2, .4};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    std::vector<double> arrived(6);
    for (const std::size_t unit : order) arrived[unit] = scores[unit];
    EXPECT_THAT(halved(arrived, {1, 2}), ElementsAre(3, 1, 5));
  } while (std::next_permutation(order.begin(), order.end()));
}

const std::vector<double> kFinal = {.1, .2, .3, .15, .9, .25, .05, .5, .4};

TEST(AsynchronousHalving, OfOneSlotPromotesAsTheAlgorithmSays) {
  std::vector<Climber> units;
  std::vector<std::string> trace;
  for (;;) {
    std::optional<std::size_t> unit = promoted(units, 2, 3);
    if (unit) {
      ++units[*unit].rung;
    } else if (units.size() < kFinal.size()) {
      unit = units.size();
      units.emplace_back();
    } else {
      break;
    }
    Climber& climber = units[*unit];
    climber.there = true;
    climber.scores.push_back(kFinal[*unit] + .01 * static_cast<double>(climber.rung));
    trace.push_back(std::to_string(*unit) + "@" + std::to_string(climber.rung));
  }
  EXPECT_THAT(trace, ElementsAre("0@0", "1@0", "2@0", "2@1", "3@0", "4@0", "4@1", "5@0", "6@0", "7@0", "7@1", "4@2",
                                 "8@0", "8@1"));
}

TEST(AsynchronousHalving, PromotesNobodyWhoIsOnTheWayOrDiverged) {
  const std::vector<Climber> units = {{1, false, {.9}}, {0, true, {kNan}}, {0, true, {.1}}};
  EXPECT_EQ(promoted(units, 2, 3), std::nullopt);  // the best third is unit 0, which is on its way
  EXPECT_EQ(promoted({{0, true, {kNan}}, {0, true, {kNan}}, {0, true, {kNan}}}, 1, 3), std::nullopt);
}

TEST(StoppingHalving, JudgesEachOnArrival) {
  std::vector<double> recorded;
  std::string answers;
  for (const double score : kFinal) {
    recorded.push_back(score);
    answers += stops_at_rung(recorded, 3) ? 'Y' : 'n';
  }
  EXPECT_EQ(answers, "nnnYnYYnn");
  EXPECT_TRUE(stops_at_rung({kNan}, 3));
}

TEST(Rungs, GrowGeometricallyAndEndAtTheHorizon) {
  EXPECT_THAT(geometric_rungs(1, 10, 2), ElementsAre(1, 2, 4, 8, 10));
  EXPECT_THAT(geometric_rungs(2, 50, 3), ElementsAre(2, 6, 18, 50));
  EXPECT_THAT(geometric_rungs(1, 27, 3, 1), ElementsAre(3, 9, 27));
}

TEST(Hyperband, HasTheBracketsOfItsAlgorithm) {
  const std::vector<Bracket> brackets = hyperband(81, 3);
  ASSERT_EQ(brackets.size(), 5U);
  EXPECT_THAT(brackets[0].units, ElementsAre(81, 27, 9, 3, 1));
  EXPECT_THAT(brackets[0].rungs, ElementsAre(1, 3, 9, 27, 81));
  EXPECT_THAT(brackets[1].units, ElementsAre(34, 11, 3, 1));
  EXPECT_THAT(brackets[1].rungs, ElementsAre(3, 9, 27, 81));
  EXPECT_THAT(brackets[2].units, ElementsAre(15, 5, 1));
  EXPECT_THAT(brackets[3].units, ElementsAre(8, 2));
  EXPECT_THAT(brackets[4].units, ElementsAre(5));
  EXPECT_EQ(hyperband(243, 3).size(), 6U) << "log 243 / log 3 is below 5 in floating point";
}

TEST(MedianRule, StopsWhoseBestIsBelowTheOthersAtThisStep) {
  const std::vector<Curve> finished = {{{1, .1}, {2, .5}}, {{1, .3}, {2, .6}}, {{1, .2}, {2, .9}}};
  const MedianRule rule{.after = 3, .from = 2};
  EXPECT_TRUE(stops(rule, {{1, .2}, {2, .55}}, 2, finished));
  EXPECT_FALSE(stops(rule, {{1, .7}, {2, .55}}, 2, finished)) << "its best so far counts";
  EXPECT_FALSE(stops(rule, {{1, .0}}, 1, finished)) << "before the rule's first step";
  EXPECT_FALSE(stops(MedianRule{.after = 4, .from = 2}, {{2, 0}}, 2, finished)) << "too few have finished";
  EXPECT_TRUE(stops(rule, {{1, kNan}, {2, kNan}}, 2, finished));
  EXPECT_FALSE(stops(rule, {{3, 0}}, 3, finished)) << "no other has a value at this step";
  EXPECT_TRUE(stops(MedianRule{.after = 3, .from = 2, .percentile = 25}, {{2, .54}}, 2, finished));
  EXPECT_FALSE(stops(MedianRule{.after = 3, .from = 2, .percentile = 25}, {{2, .55}}, 2, finished));
}

TEST(PatienceRule, StopsWhereNothingNewIsBetter) {
  const PatienceRule rule{.validations = 2, .least = .05};
  EXPECT_FALSE(stops(rule, {{1, .5}, {2, .4}})) << "nothing stands before the last two";
  EXPECT_TRUE(stops(rule, {{1, .5}, {2, .54}, {3, .55}}));
  EXPECT_FALSE(stops(rule, {{1, .5}, {2, .4}, {3, .56}}));
  EXPECT_TRUE(stops(rule, {{1, .5}, {2, kNan}, {3, kNan}}));
}

TEST(ThresholdRule, LooksAtTheFirstValueFromItsStepOn) {
  const ThresholdRule rule{.above = {}, .below = 15, .at = 3};
  EXPECT_FALSE(stops(rule, {{1, 3}, {2, 4}}));
  EXPECT_TRUE(stops(rule, {{1, 3}, {4, 14}}));
  EXPECT_FALSE(stops(rule, {{1, 3}, {4, 16}, {5, 2}}));
  EXPECT_TRUE(stops(rule, {{3, kNan}}));
}

TEST(KimNelson, HasThePublishedConstants) {
  const auto h_squared = [](std::int64_t k, std::int64_t first) {
    return KimNelson{.delta = 1, .alpha = .05, .first = first}.h_squared(k);
  };
  EXPECT_NEAR(h_squared(8, 5), 29.466401, 1e-5);
  EXPECT_NEAR(h_squared(8, 10), 14.134723, 1e-5);
  EXPECT_NEAR(h_squared(2, 5), 8.649111, 1e-5);
  EXPECT_NEAR(h_squared(16, 6), 32.102785, 1e-5);
}

// Standard normal numbers, a function of their place (Box and Muller 1958).
double normal(std::uint64_t repeat, std::uint64_t candidate, std::uint64_t seed) {
  const std::vector<double> u = draws(Drawing::kRandom, mix(repeat) ^ candidate, 2, seed);
  return std::sqrt(-2 * std::log(1 - u[0])) * std::cos(2 * std::numbers::pi * u[1]);
}

TEST(KimNelson, FindsTheBestAsOftenAsItPromises) {
  constexpr int kRepeats = 1000, kCandidates = 8, kMost = 400;
  int right = 0;
  for (std::uint64_t repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<std::vector<double>> values(kCandidates);
    for (std::uint64_t i = 0; i < kCandidates; ++i) {
      for (std::uint64_t r = 0; r < kMost; ++r) values[i].push_back(normal(repeat, i, r) + (i == 3 ? 1 : 0));
    }
    const RaceState end = race({.delta = 1, .alpha = .05, .first = 5}, values);
    right += end.decided && end.winner == 3 ? 1 : 0;
  }
  EXPECT_GE(right, 950);
}

TEST(KimNelson, SaysNothingBeforeItsFirstSeedsAreThere) {
  const RaceState state = race({.delta = 1, .alpha = .05, .first = 3}, {{1, 2}, {3, 4}});
  EXPECT_FALSE(state.decided);
  EXPECT_THAT(state.live, ElementsAre(0, 1));
  EXPECT_EQ(state.seeds, 2);
}

TEST(KimNelson, NeedsNoMoreSeedsWhereDifferencesDoNotVary) {
  const RaceState state = race({.delta = .5, .alpha = .05, .first = 3}, {{1, 2, 3}, {2, 3, 4}, {0, 1, 2}});
  EXPECT_TRUE(state.decided);
  EXPECT_EQ(state.winner, 1U);
  EXPECT_EQ(state.seeds, 3);
}

TEST(KimNelson, PutsOutWhatDiverges) {
  const RaceState state = race({.delta = .5, .alpha = .05, .first = 3}, {{kNan}, {2, 3, 4}, {0, 1, 2}});
  EXPECT_TRUE(state.decided);
  EXPECT_EQ(state.winner, 1U);
}

TEST(SequentialHalving, SpendsItsBudgetInLogarithmicRounds) {
  EXPECT_EQ(seeds_of_round(48, 8, 8), 2);
  EXPECT_EQ(seeds_of_round(48, 8, 4), 4);
  EXPECT_EQ(seeds_of_round(23, 8, 8), 0) << "not a seed for each";
  EXPECT_THAT(better_half({.1, .4, .4, kNan, .3}, {0, 1, 2, 3, 4}), ElementsAre(1, 2, 4));
}

// One slot runs asynchronous halving as written: promote what may go on, else begin the next; returns the units that reach
// each rung.
std::vector<std::int64_t> reached_by_asha(const std::vector<double>& finals, std::size_t rungs, std::int64_t eta) {
  std::vector<Climber> units;
  std::vector<std::int64_t> out(rungs, 0);
  while (true) {
    std::size_t unit = units.size();
    if (const auto next = promoted(units, rungs - 1, eta)) {
      unit = *next;
      units[unit].rung += 1;
    } else if (unit == finals.size()) {
      return out;
    } else {
      units.emplace_back();
    }
    units[unit].there = true;
    units[unit].scores.push_back(finals[unit] + 0.01 * static_cast<double>(units[unit].rung));
    out[units[unit].rung] += 1;
  }
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
    const std::vector<std::int64_t> reached = reached_by_asha(order, 3, 3);
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
  const std::vector<std::int64_t> reached = reached_by_asha({.1, .2, .3, .15, .9, .25, .05, .5, .4}, 3, 3);
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

TEST(GridProposals, WalkTheProductTheLastPathFastest) {
  Search search;
  search.space = {{.path = "a", .kind = Dimension::Kind::kChoice, .choices = {"x", "y"}},
                  {.path = "b", .kind = Dimension::Kind::kInteger, .low = -1, .high = 1}};
  EXPECT_EQ(grid_size(search.space, 100), 6);
  EXPECT_EQ(grid_size(search.space, 4), 4) << "counted no further than asked";
  EXPECT_THAT(proposal(search, 0, 0), ElementsAre("x", -1));
  EXPECT_THAT(proposal(search, 0, 2), ElementsAre("x", 1));
  EXPECT_THAT(proposal(search, 0, 3), ElementsAre("y", -1));
}

}  // namespace
}  // namespace locus

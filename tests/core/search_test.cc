// The rules of searches: proposals, halving, stopping and races.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "core/search/halving.h"
#include "core/search/proposal.h"
#include "core/search/race.h"
#include "core/search/search.h"
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
  const MedianRule rule{.after = 3, .from = 2};
  const double median = .6;  // of three that have finished, at step 2
  EXPECT_TRUE(stops(rule, {{1, .2}, {2, .55}}, 2, 3, median));
  EXPECT_FALSE(stops(rule, {{1, .7}, {2, .55}}, 2, 3, median)) << "its best so far counts";
  EXPECT_FALSE(stops(rule, {{1, .0}}, 1, 3, .2)) << "before the rule's first step";
  EXPECT_FALSE(stops(MedianRule{.after = 4, .from = 2}, {{2, 0}}, 2, 3, median)) << "too few have finished";
  EXPECT_TRUE(stops(rule, {{1, kNan}, {2, kNan}}, 2, 3, median));
  EXPECT_FALSE(stops(rule, {{3, 0}}, 3, 3, std::nullopt)) << "no other has a value at this step";
}

TEST(Percentile, IsLinearBetweenRanks) {
  const std::vector<double> values = {.5, .6, .9};
  const auto at = [&](std::size_t i) { return values[i]; };
  EXPECT_DOUBLE_EQ(percentile_of(3, 50, at), .6);
  EXPECT_DOUBLE_EQ(percentile_of(3, 25, at), .55);
  EXPECT_DOUBLE_EQ(percentile_of(3, 0, at), .5);
  EXPECT_DOUBLE_EQ(percentile_of(3, 100, at), .9);
  EXPECT_DOUBLE_EQ(percentile_of(1, 50, at), .5);
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

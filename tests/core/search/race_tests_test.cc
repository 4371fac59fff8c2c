// Races that test, against the definitions of their tests.
#include "core/search/race_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/core/search/history.h"

namespace locus {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;

using Values = std::vector<std::vector<double>>;

std::vector<double> drawn(std::mt19937_64& random, std::size_t count, double mean = 0) {
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> out(count);
  for (double& value : out) value = normal(random);
  return out;
}

// Upper tail of Student's t by Simpson's rule over the density, from the definition.
double t_tail(double t, double freedom) {
  const double scale = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) / std::sqrt(freedom * M_PI);
  const auto density = [&](double x) { return scale * std::pow(1 + x * x / freedom, -(freedom + 1) / 2); };
  constexpr int kParts = 20000;
  double sum = 0;
  const double h = t / kParts;
  for (int i = 0; i <= kParts; ++i) sum += (i == 0 || i == kParts ? 1 : i % 2 == 1 ? 4 : 2) * density(i * h);
  return .5 - sum * h / 3;
}

TEST(PairedT, IsThatOfItsDefinition) {
  std::mt19937_64 random(1);
  for (std::size_t n = 2; n < 12; ++n) {
    const auto a = drawn(random, n, .5), b = drawn(random, n);
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += (a[i] - b[i]) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) variance += std::pow(a[i] - b[i] - mean, 2) / static_cast<double>(n - 1);
    const double t = std::abs(mean) / std::sqrt(variance / static_cast<double>(n));
    EXPECT_NEAR(paired_t_p(a, b), 2 * t_tail(t, static_cast<double>(n - 1)), 1e-7) << n;
    EXPECT_DOUBLE_EQ(paired_t_p(a, b), paired_t_p(b, a));
  }
}

TEST(PairedT, OfEqualDifferencesIsNoEvidenceOrAll) {
  EXPECT_EQ(paired_t_p({1, 2, 3}, {1, 2, 3}), 1);
  EXPECT_EQ(paired_t_p({2, 3, 4}, {1, 2, 3}), 0);
}

TEST(Holm, StepsDown) {
  EXPECT_THAT(holm_adjusted({.01, .04, .03, .005}), ElementsAre(DoubleNear(.03, 1e-12), DoubleNear(.06, 1e-12),
                                                                DoubleNear(.06, 1e-12), DoubleNear(.02, 1e-12)));
  EXPECT_THAT(holm_adjusted({.6, .7}), ElementsAre(1, 1));
  EXPECT_TRUE(holm_adjusted({}).empty());
}

// All 2^n patterns of signs.
double counted_wilcoxon(const std::vector<double>& differences) {
  std::vector<double> sizes, ranks;
  for (const double each : differences) sizes.push_back(std::abs(each));
  for (const double size : sizes) {
    double below = 0, equal = 0;
    for (const double other : sizes) below += other < size ? 1 : 0, equal += other == size ? 1 : 0;
    ranks.push_back(below + (equal + 1) / 2);
  }
  double seen = 0, middle = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) seen += differences[i] > 0 ? ranks[i] : 0, middle += ranks[i] / 2;
  double far = 0;
  const std::size_t patterns = std::size_t{1} << ranks.size();
  for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (pattern >> i & 1) != 0 ? ranks[i] : 0;
    far += std::abs(sum - middle) >= std::abs(seen - middle) - 1e-9 ? 1 : 0;
  }
  return far / static_cast<double>(patterns);
}

TEST(Wilcoxon, CountsSignsExactlyWithTiesToo) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 1 + random() % 10;
    std::vector<double> differences, zeros(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const double size = 1 + static_cast<double>(random() % 6);
      differences.push_back(random() % 2 == 0 ? size : -size);
    }
    EXPECT_NEAR(wilcoxon_p(differences, zeros), counted_wilcoxon(differences), 1e-12);
  }
  EXPECT_EQ(wilcoxon_p({1, 2}, {1, 2}), 1) << "no difference at all";
  EXPECT_DOUBLE_EQ(wilcoxon_p({1, 2, 3, 4, 5, 6}, std::vector<double>(6, 0)), 2.0 / 64);
}

TEST(Wilcoxon, OfManyIsAboutNormal) {
  std::mt19937_64 random(3);
  const auto a = drawn(random, 50, .3), zeros = std::vector<double>(50, 0.0);
  auto more = a;
  more.push_back(1e-9);  // the 51st, of the smallest rank
  auto more_zeros = zeros;
  more_zeros.push_back(0);
  EXPECT_NEAR(wilcoxon_p(more, more_zeros), wilcoxon_p(a, zeros), .01);
}

// Without ties by the textbook's other forms: chi^2 = 12 / (n k (k + 1)) sum R^2 - 3 n (k + 1), and Conover's difference through it.
TEST(Friedman, IsThatOfItsOtherForm) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    const std::size_t n = 3 + random() % 8, k = 3 + random() % 5;
    Values blocks;
    for (std::size_t r = 0; r < n; ++r) blocks.push_back(drawn(random, k));
    const FriedmanTest test = friedman(blocks, .05);
    std::vector<double> sums(k, 0.0);
    for (const auto& block : blocks) {
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) sums[i] += block[j] >= block[i] ? 1 : 0;  // the largest has rank 1
      }
    }
    ASSERT_EQ(test.sums, sums);
    const auto nn = static_cast<double>(n), kk = static_cast<double>(k);
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    const double statistic = 12 / (nn * kk * (kk + 1)) * squares - 3 * nn * (kk + 1);
    if (k == 3) {
      EXPECT_NEAR(test.p, std::exp(-statistic / 2), 1e-9) << "of two degrees of freedom";
    }
    if (k == 5) {
      EXPECT_NEAR(test.p, std::exp(-statistic / 2) * (1 + statistic / 2), 1e-9) << "of four";
    }
    const double ranks_squared = nn * kk * (kk + 1) * (2 * kk + 1) / 6, middle = nn * kk * (kk + 1) * (kk + 1) / 4;
    const double freedom = (nn - 1) * (kk - 1);
    const double spread = std::sqrt(2 * nn * (ranks_squared - middle) / freedom * (1 - statistic / (nn * (kk - 1))));
    if (spread > 1e-6) {
      EXPECT_NEAR(2 * t_tail(test.least_difference / spread, freedom), .05, 1e-6);
    }
  }
}

TEST(Friedman, OfNothingButTiesRejectsNothing) { EXPECT_EQ(friedman({{1, 1, 1}, {2, 2, 2}}, .05).p, 1); }

using Race = RaceState (*)(const RaceTests&, const Values&);

// Three candidates with the last well ahead, and a hopeless one.
Values clear_values(std::size_t seeds) {
  std::mt19937_64 random(5);
  Values out = {drawn(random, seeds), drawn(random, seeds, -20), drawn(random, seeds, 10), drawn(random, seeds, 1)};
  return out;
}

TEST(TestingRaces, FindTheClearlyBest) {
  for (const Race race : {Race{t_race}, Race{f_race}}) {
    const RaceState state = race({}, clear_values(20));
    EXPECT_TRUE(state.decided);
    EXPECT_EQ(state.winner, 2U);
    EXPECT_GE(state.seeds, 5);
    EXPECT_LE(state.seeds, 20);
  }
}

TEST(TestingRaces, SayNothingBeforeTheirFirstTest) {
  for (const Race race : {Race{t_race}, Race{f_race}}) {
    const RaceState state = race({}, clear_values(4));
    EXPECT_THAT(state.live, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(state.seeds, 4);
    EXPECT_FALSE(state.decided);
  }
}

TEST(TestingRaces, PutOutWhatDiverges) {
  for (const Race race : {Race{t_race}, Race{f_race}}) {
    Values values = clear_values(2);
    values[2][1] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(race({}, values).live, ElementsAre(0, 1, 3));
  }
}

// Who is out has no further values, and the others go on without it.
TEST(TestingRaces, FollowFromTheValuesThatThereAre) {
  for (const Race race : {Race{t_race}, Race{f_race}}) {
    Values values = clear_values(20);
    const RaceState whole = race({}, values);
    for (std::size_t seeds = 1; seeds <= 20; ++seeds) {
      Values so_far = values;
      for (auto& each : so_far) each.resize(std::min(each.size(), seeds));
      const RaceState now = race({}, so_far);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::find(now.live.begin(), now.live.end(), i) == now.live.end())
          values[i].resize(std::min(values[i].size(), seeds));
      }
    }
    EXPECT_EQ(race({}, values).live, whole.live);
    EXPECT_EQ(race({}, values).seeds, whole.seeds);
  }
}

// Of equal candidates one is rarely thrown out by a single look: the tests hold their level for the family.
TEST(TestingRaces, HoldTheirLevelAtOneLook) {
  std::mt19937_64 random(6);
  int t_out = 0, f_out = 0;
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    Values values;
    for (int i = 0; i < 4; ++i) values.push_back(drawn(random, 8));
    const RaceTests once{.05, 8};
    t_out += t_race(once, values).live.size() < 4 ? 1 : 0;
    f_out += f_race(once, values).live.size() < 4 ? 1 : 0;
  }
  // Holm is over comparisons with the best seen, which is the largest of four: above the level of comparisons fixed beforehand.
  EXPECT_LT(t_out, kRounds * .2);
  EXPECT_GT(t_out, 0);
  EXPECT_LT(f_out, kRounds * .08);
  EXPECT_GT(f_out, 0);
}

TEST(TestingRaces, AreRunByASearch) {
  for (const RaceRule rule : {RaceRule::kTTest, RaceRule::kFriedman}) {
    SearchSetup setup = search_tests::setup_of_cells(4, 20);
    setup.search.advance.rule = AdvanceRule::kRace;
    setup.search.advance.resource = SearchResource::kSeeds;
    setup.search.advance.race.rule = rule;
    setup.search.advance.race.most = 20;
    search_tests::History history(setup);
    const Values values = clear_values(20);
    search_tests::run_to_the_end(history, [&](std::int64_t trial, auto) {
      return values[static_cast<std::size_t>(trial / 20)][static_cast<std::size_t>(trial % 20)];
    });
    const RaceState whole = rule == RaceRule::kTTest ? t_race({}, values) : f_race({}, values);
    ASSERT_TRUE(whole.decided);
    EXPECT_EQ(history.fold().reason(0), "proposal 2 won after " + std::to_string(whole.seeds) + " seeds");
    EXPECT_LT(history.fold().spent(0).stages, 4 * 20);
    EXPECT_EQ(history.broken(), "");
  }
}

}  // namespace
}  // namespace locus

// What choosing the best does to a number: against published values, and by simulation.
#include "core/statistics/order_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace locus {
namespace {

TEST(OrderStatistics, AgreeWithHartersTable) {
  // H. L. Harter, Biometrika 48 (1961), table 1.
  EXPECT_NEAR(expected_top_mean(1, 2), 0.56419, 5e-6);
  EXPECT_NEAR(expected_top_mean(1, 4), 1.02938, 5e-6);
  EXPECT_NEAR(expected_top_mean(1, 5), 1.16296, 5e-6);
  EXPECT_NEAR(expected_top_mean(1, 10), 1.53875, 5e-6);
  EXPECT_NEAR(expected_top_mean(2, 10), (1.53875 + 1.00136) / 2, 5e-6);
  EXPECT_NEAR(expected_top_mean(3, 5), (1.16296 + 0.49502) / 3, 5e-6);
  EXPECT_NEAR(expected_top_mean(3, 4), (1.02938 + 0.29701 - 0.29701) / 3, 5e-6);
}

TEST(OrderStatistics, KnowTheWinnersCurseOfSearches) {
  const std::vector<std::pair<int, double>> known = {{8, 1.42}, {16, 1.77}, {32, 2.07}, {64, 2.34}};
  for (const auto& [of, expected] : known) EXPECT_NEAR(expected_top_mean(1, of), expected, 5e-3) << of;
}

TEST(OrderStatistics, AreThoseOfASimulation) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const auto& [top, of] : {std::pair{3, 5}, {1, 32}, {7, 9}}) {
    constexpr int kRepeats = 20'000;
    double sum = 0;
    for (int i = 0; i < kRepeats; ++i) {
      std::vector<double> values(static_cast<std::size_t>(of));
      for (double& value : values) value = normal(random);
      sum += top_mean(values, static_cast<std::size_t>(top), true).mean;
    }
    EXPECT_NEAR(sum / kRepeats, expected_top_mean(top, of), 0.02) << top << " of " << of;
  }
}

TEST(OrderStatistics, ChooseNothingWhereAllCount) {
  for (int of = 1; of < 20; ++of) EXPECT_EQ(expected_top_mean(of, of), 0);
  for (const auto& [top, of] : {std::pair{0, 5}, {6, 5}, {1, 0}}) EXPECT_TRUE(std::isnan(expected_top_mean(top, of)));
}

TEST(OrderStatistics, FallWithEveryValueMoreThatCounts) {
  for (int top = 1; top < 40; ++top) EXPECT_GT(expected_top_mean(top, 40), expected_top_mean(top + 1, 40)) << top;
}

TEST(TopMean, IsOfTheBestInTheMetricsDirection) {
  const std::vector<double> values = {3, 1, 5, 2, 4};
  EXPECT_DOUBLE_EQ(top_mean(values, 3, true).mean, 4);
  EXPECT_DOUBLE_EQ(top_mean(values, 3, false).mean, 2);
  EXPECT_DOUBLE_EQ(top_mean(values, 3, true).all_mean, 3);
  EXPECT_DOUBLE_EQ(top_mean(values, 3, true).all_std, std::sqrt(2.5));
}

TEST(TopMean, TakesWhatIsNotFiniteLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ(top_mean({nan, 1, 2}, 2, true).mean, 1.5);
  EXPECT_DOUBLE_EQ(top_mean({std::numeric_limits<double>::infinity(), 1, 2}, 2, true).mean, 1.5);
  EXPECT_TRUE(std::isnan(top_mean({nan, 1, 2}, 3, true).mean)) << "a seed that diverged is not left out quietly";
}

TEST(TopMean, IsNotOverFewerSeeds) {
  EXPECT_TRUE(std::isnan(top_mean({1, 2}, 3, true).mean));
  EXPECT_DOUBLE_EQ(top_mean({1, 2}, 3, true).all_mean, 1.5);
}

TEST(TopMean, SaysHowMuchItPromisesTooMuch) {
  EXPECT_EQ(top_sentence(3, 5, "test", false), "top 3 of 5 by test: reads high by about 0.55 standard deviations");
  EXPECT_EQ(winner_sentence(32, "test", true),
            "the best of 32 by test by itself reads low by about 2.07 standard deviations, even where all are equal");
}

}  // namespace
}  // namespace locus

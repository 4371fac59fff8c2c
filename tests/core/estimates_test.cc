// Every statistic against values that SciPy computed (tests/core/testdata/make_statistics.py says how), and
// the coverage that intervals really have, by simulation.
#include "core/statistics/estimates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "core/base/json.h"
#include "core/statistics/samples.h"

namespace locus {
namespace {

using Sample = std::vector<double>;

const Json& reference() {
  static const Json json = [] {
    std::ifstream in(LOCUS_TEST_STATISTICS);
    return Json::parse(in);
  }();
  return json;
}

// Relative to what the numbers are made of: differences of large values lose digits in any code.
void expect_near(double actual, double expected, double size) {
  EXPECT_NEAR(actual, expected, 1e-9 * std::max({std::abs(expected), size, 1e-300}));
}

double largest(const Sample& x) {
  double out = 0;
  for (const double value : x) out = std::max(out, std::abs(value));
  return out;
}

TEST(Reference, MeansDeviationsIntervalsAndOneSampleTests) {
  ASSERT_GE(reference()["one_sample"].size(), 100u);
  for (const Json& one : reference()["one_sample"]) {
    const Sample x = one["x"];
    const double size = largest(x);
    expect_near(sample_mean(x), one["mean"], size);
    expect_near(sample_std(x), one["std"], 0);
    expect_near(student_t_half_width(x, one["level"]), one["half"], size);
    EXPECT_NEAR(paired_t_p(x), one["t_p"], 1e-9);
    expect_near(interquartile_mean(x), one["iqm"], size);
    if (one.contains("sign_flip_p")) EXPECT_DOUBLE_EQ(sign_flip_p(x), one["sign_flip_p"].get<double>());
  }
}

TEST(Reference, WelchsTestAndInterval) {
  for (const Json& one : reference()["two_samples"]) {
    const Sample x = one["x"], y = one["y"];
    const double size = std::max(largest(x), largest(y));
    const Welch found = welch(x, y, one["level"]);
    expect_near(found.difference, one["difference"], size);
    expect_near(found.degrees, one["degrees"], 0);
    EXPECT_NEAR(found.p, one["p"], 1e-9);
    expect_near(found.low, one["low"], size);
    expect_near(found.high, one["high"], size);
  }
  EXPECT_TRUE(std::isnan(welch({1}, {1, 2}, 0.95).p));
  EXPECT_TRUE(std::isnan(welch({1, 1}, {2, 2}, 0.95).p)) << "an infinite t of two constants is no evidence";
}

TEST(Reference, PowerOfThePairedTTestAndThePairsItNeeds) {
  int needed = 0;
  for (const Json& one : reference()["power"]) {
    EXPECT_NEAR(paired_t_power(one["effect"], one["std"], one["pairs"], one["alpha"]), one["power"], 1e-9) << one;
    if (!one.contains("needed")) continue;
    EXPECT_EQ(pairs_needed(one["effect"], one["std"], one["alpha"], 0.8), one["needed"].get<int>()) << one;
    ++needed;
  }
  EXPECT_GE(needed, 60);
  EXPECT_EQ(pairs_needed(1, 0, 0.05, 0.8), 2);
  EXPECT_EQ(pairs_needed(0, 1, 0.05, 0.8), 0);
  EXPECT_EQ(pairs_needed(1, kUndefined, 0.05, 0.8), 0) << "one pair has no spread";
  EXPECT_EQ(pairs_needed(1e-9, 1, 0.05, 0.8), 0) << "more than anyone runs";
}

TEST(Reference, HolmAndRanks) {
  for (const Json& one : reference()["holm"]) {
    const Sample expected = one["holm"], found = holm(one["p"]);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
  }
  for (const Json& one : reference()["ranks"]) {
    EXPECT_EQ(ranks(one["x"], true), one["up"].get<Sample>());
    EXPECT_EQ(ranks(one["x"], false), one["down"].get<Sample>());
  }
}

TEST(Reference, BootstrapIntervalsOfTheInterquartileMean) {
  for (const Json& one : reference()["bootstrap"]) {
    const std::vector<Sample> strata = one["strata"];
    double size = 0;
    for (const Sample& stratum : strata) size = std::max(size, largest(stratum));
    const Interval found = bootstrap_iqm(strata, one["level"]);
    expect_near(found.low, one["low"], size);
    expect_near(found.high, one["high"], size);
  }
}

TEST(Bootstrap, GivesTheSameIntervalAlwaysAndNoneWithoutSpread) {
  const std::vector<Sample> strata = {{1, 2, 3}, {10, 11, 12, 13}};
  EXPECT_EQ(bootstrap_iqm(strata, 0.95).low, bootstrap_iqm(strata, 0.95).low);
  EXPECT_TRUE(std::isnan(bootstrap_iqm({{1}, {2}}, 0.95).low));
  EXPECT_TRUE(std::isnan(bootstrap_iqm({{1, kUndefined}}, 0.95).low));
}

TEST(Bootstrap, DrawsEveryIndexAboutEquallyOften) {
  std::vector<int> counts(5, 0);
  for (std::uint32_t replicate = 0; replicate < 20000; ++replicate) ++counts[bootstrap_draw(replicate, 3, 1, 5)];
  for (const int count : counts) EXPECT_NEAR(count, 4000, 5 * std::sqrt(20000 * 0.2 * 0.8));
}

// Share of `draws` samples of three whose interval holds the mean.
template <class Draw>
double coverage(int draws, double mean, Draw draw) {
  int hits = 0;
  for (int i = 0; i < draws; ++i) {
    const Sample x = {draw(), draw(), draw()};
    hits += std::abs(sample_mean(x) - mean) <= student_t_half_width(x, 0.95);
  }
  return static_cast<double>(hits) / draws;
}

TEST(Coverage, IsNinetyFivePerCentAtThreeNormalSeeds) {
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal(80, 1.5);
  EXPECT_NEAR(coverage(60'000, 80, [&] { return normal(bits); }), 0.95,
              0.005);  // its standard error is 0.0009
}

// What the t interval promises, it promises for normal data. For a lognormal with sigma 1 it holds the mean
// less often: 83.82 % at three seeds, by a separate run of ten million samples in NumPy.
TEST(Coverage, OfSkewedDataIsLowerAndKnown) {
  std::mt19937_64 bits(2);
  std::lognormal_distribution<double> skewed(0, 1);
  const double expected = 0.8382, error = std::sqrt(expected * (1 - expected) / 60'000);
  EXPECT_NEAR(coverage(60'000, std::exp(0.5), [&] { return skewed(bits); }), expected, 4 * error);
}

}  // namespace
}  // namespace locus

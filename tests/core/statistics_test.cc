// Statistics against values computed with SciPy 1.x (t distribution, permutation_test) and against published
// ones.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/statistics/reach.h"
#include "core/statistics/samples.h"

namespace locus {
namespace {

const std::vector<double> kA = {80.1, 80.9, 79.7, 81.2, 80.4};
const std::vector<double> kB = {82.3, 82.0, 81.9, 82.8, 82.1};
const std::vector<double> kC = {79.9, 81.5, 80.0, 81.0, 80.6};

// Darwin's maize, eighths of an inch: Fisher (1935) counted 863 of 32768 arrangements on one side and 1726 on
// both.
const std::vector<double> kDarwin = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};

std::vector<double> minus(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] - y[i]);
  return out;
}

TEST(Samples, HaveMeanDeviationAndInterval) {
  EXPECT_NEAR(sample_mean(kA), 80.46, 1e-12);
  EXPECT_NEAR(sample_std(kA), 0.6024948132556844, 1e-12);
  EXPECT_NEAR(student_t_half_width(kA, 0.95), 0.7480961187240833, 1e-9);
  EXPECT_NEAR(sample_std(kC), 0.6745368781616006, 1e-12);
  EXPECT_NEAR(student_t_half_width(kC, 0.95), 0.8375481570740182, 1e-9);
}

TEST(Samples, KeepTheirDigitsFarFromZero) {
  EXPECT_NEAR(sample_std({1e9 + 1, 1e9 + 2, 1e9 + 4}), 1.5275252316519474, 1e-6);
}

TEST(Samples, AreUndefinedWhereTooFew) {
  EXPECT_TRUE(std::isnan(sample_mean({})));
  EXPECT_EQ(sample_mean({7}), 7);
  EXPECT_TRUE(std::isnan(sample_std({7})));
  EXPECT_TRUE(std::isnan(student_t_half_width({7}, 0.95)));
  EXPECT_TRUE(std::isnan(paired_t_p({7})));
}

TEST(PairedT, AgreesWithScipy) {
  EXPECT_NEAR(paired_t_p(minus(kB, kA)), 0.0010378037737981095, 1e-12);
  EXPECT_NEAR(paired_t_p(minus(kC, kA)), 0.41367853187424647, 1e-10);
  EXPECT_NEAR(paired_t_p(kDarwin), 0.049702944021800866, 1e-12);
}

TEST(PairedT, SaysWhatNoSpreadMeans) {
  EXPECT_TRUE(std::isnan(paired_t_p({0, 0, 0})));
  EXPECT_TRUE(std::isnan(paired_t_p({2, 2, 2}))) << "t is infinite, which two seeds on a grid of 0.01 can bring about";
  EXPECT_TRUE(std::isnan(paired_t_p({1, std::nan(""), 2})));
}

TEST(SignFlip, CountsDarwinsMaizeAsFisherDid) { EXPECT_DOUBLE_EQ(sign_flip_p(kDarwin), 1726.0 / 32768.0); }

TEST(SignFlip, AgreesWithEnumeration) {
  EXPECT_DOUBLE_EQ(sign_flip_p(minus(kB, kA)), 0.0625);
  EXPECT_DOUBLE_EQ(sign_flip_p(minus(kC, kA)), 0.5);
  EXPECT_DOUBLE_EQ(sign_flip_p({0.3, -0.1, 0.25, 0.4, 0.0, 0.15, -0.2, 0.35, 0.1, 0.05, 0.45, -0.05}), 0.048828125);
}

TEST(SignFlip, CountsTiesAndZerosExactly) {
  EXPECT_DOUBLE_EQ(sign_flip_p({0, 0, 1, 1, -1, 2}), 0.5);
  EXPECT_DOUBLE_EQ(sign_flip_p({0, 0, 0}), 1.0);
  EXPECT_DOUBLE_EQ(sign_flip_p({1, 1, 1, -1}), 0.625);
  EXPECT_DOUBLE_EQ(sign_flip_p({0.1, 0.2, 0.3, -0.3}), 0.75);  // 0.1 + 0.2 is not 0.3 in binary
  EXPECT_DOUBLE_EQ(sign_flip_p({5}), 1.0);
}

TEST(SignFlip, DoesNotDependOnSignOrderOrScale) {
  std::vector<double> d = kDarwin;
  const double p = sign_flip_p(d);
  std::reverse(d.begin(), d.end());
  for (double& x : d) x *= -1e-7;
  EXPECT_DOUBLE_EQ(sign_flip_p(d), p);
}

// Counted exactly on integers by dynamic programming elsewhere.
TEST(SignFlip, StaysExactBeyondTwentyPairs) {
  EXPECT_DOUBLE_EQ(
      sign_flip_p({22, 4, 37, -17, 36, -12, -20, 1, -1, -10, 23, 37, 21, -10, 1, 35, 18, 12, 0, 24, 9, 19, -6, 36}),
      0.009718894958496094);
  EXPECT_DOUBLE_EQ(
      sign_flip_p({-4, -8, 36,  -28, 33,  30, -29, 21, 39, -1, -6, 32, -23, 13,  3, 18,  7,   -10, 19,  -9,
                   -2, 24, -30, 34,  -12, 33, 7,   26, 26, 7,  16, 3,  -29, -14, 2, -14, -12, 25,  -17, 7}),
      0.11033954446065763);
}

TEST(SignFlip, IsUndefinedWhereItCannotBeCounted) {
  EXPECT_TRUE(std::isnan(sign_flip_p({})));
  EXPECT_TRUE(std::isnan(sign_flip_p({1, std::nan("")})));
  EXPECT_TRUE(std::isnan(sign_flip_p(std::vector<double>(41, 1.0))));
}

TEST(SignFlip, HasAFloorItReaches) {
  for (int n = 1; n <= 12; ++n) {
    std::vector<double> d;
    for (int i = 0; i < n; ++i) d.push_back(1 + 0.1 * i);
    EXPECT_DOUBLE_EQ(sign_flip_p(d), sign_flip_floor(n)) << n;
  }
  EXPECT_DOUBLE_EQ(sign_flip_floor(5), 0.0625);
  EXPECT_TRUE(std::isnan(sign_flip_floor(0)));
}

TEST(Times, VaryWhereOneSeedTakesHalfAsLongAgainAsAnother) {
  EXPECT_TRUE(times_vary({20.6, 31.0, 46.8}));
  EXPECT_TRUE(times_vary({10, 15}));
  EXPECT_FALSE(times_vary({10, 14.9}));
  EXPECT_FALSE(times_vary({10}));
  EXPECT_FALSE(times_vary({}));
}

TEST(Reach, NamesComparisonsThatTheirOwnPairsKeepFromTheLevel) {
  EXPECT_EQ(pairs_to_reach(0.05), 6);
  EXPECT_EQ(pairs_to_reach(0.05 / 14), 10);
  EXPECT_TRUE(out_of_reach({6, 8}, 0.05, false).empty());
  const auto few = out_of_reach({8, 5, 0, 5}, 0.05, false);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_THAT(few[0].members, testing::ElementsAre(1, 3));
  EXPECT_EQ(few[0].needed, 6);
  EXPECT_EQ(sentence_of(few[0], "'violin' and 1 more"),
            "with 5 pairs ('violin' and 1 more) the sign-flip test cannot go below p = 0.0625: no difference can be "
            "marked before 6 pairs");
}

TEST(Reach, TakesHolmsCorrectionAsStrictAsItIsAtBest) {
  const auto all = out_of_reach(std::vector<int>(14, 8), 0.05, true);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].members.size(), 14u);
  EXPECT_EQ(all[0].needed, 10);
  EXPECT_EQ(sentence_of(all[0], ""),
            "with 8 pairs the sign-flip test cannot go below p = 0.007812, corrected over 14 comparisons: no "
            "difference can be marked before 10 pairs");
  const auto stepped = out_of_reach({10, 5}, 0.05, true);  // the first step passes; the second asks for 0.05 itself
  ASSERT_EQ(stepped.size(), 1u);
  EXPECT_THAT(stepped[0].members, testing::ElementsAre(1));
  EXPECT_EQ(stepped[0].needed, 6);
}

TEST(Holm, StepsDownAndNeverDecreases) {
  const std::vector<double> out = holm({0.01, 0.04, 0.03, 0.005});
  EXPECT_DOUBLE_EQ(out[0], 0.03);
  EXPECT_DOUBLE_EQ(out[1], 0.06);
  EXPECT_DOUBLE_EQ(out[2], 0.06);
  EXPECT_DOUBLE_EQ(out[3], 0.02);
}

TEST(Holm, LeavesUndefinedOnesOutOfTheCount) {
  const std::vector<double> out = holm({0.02, kUndefined, 0.6, 0.9});
  EXPECT_DOUBLE_EQ(out[0], 0.06);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_DOUBLE_EQ(out[2], 1.0);
  EXPECT_DOUBLE_EQ(out[3], 1.0);
}

}  // namespace
}  // namespace locus

// What factors explain, on functions whose answer is known, and how often the intervals err.
#include "core/analysis/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace locus {
namespace {

struct Drawn {
  std::vector<double> y;
  std::vector<std::int64_t> proposals;
  std::vector<FactorColumn> factors;
};

// `groups` that share `proposals` of two numbers a and b; y follows from the group and both.
Drawn drawn(int groups, int proposals, double noise, unsigned seed,
            const std::function<double(int group, double a, double b)>& function) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  Drawn out;
  out.factors = {{"group", false, {}}, {"a", true, {}}, {"b", true, {}}};
  for (int p = 0; p < proposals; ++p) {
    const double a = uniform(random), b = uniform(random);
    for (int g = 0; g < groups; ++g) {
      out.y.push_back(function(g, a, b) + noise * normal(random));
      out.proposals.push_back(p);
      out.factors[0].at.push_back(g);
      out.factors[1].at.push_back(a);
      out.factors[2].at.push_back(b);
    }
  }
  return out;
}

std::vector<FactorShare> shares(const Drawn& drawn) { return importance(drawn.y, drawn.proposals, drawn.factors, 1); }

TEST(Importance, GivesAllToTheOneFactorThatActs) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto found = shares(drawn(3, 32, 0, seed, [](int, double a, double) { return std::sin(3 * a); }));
    EXPECT_GT(found[1].share, 0.6) << seed << ": neighbors are near, not equal";
    EXPECT_GT(found[1].low, 0.3) << seed;
    EXPECT_LT(found[0].share, 1e-9) << "the groups are equal";
  }
}

TEST(Importance, GivesAllToTheMatrixWhereSettingsDoNothing) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto found = shares(drawn(4, 16, 0, seed, [](int group, double, double) { return group * 1.0; }));
    EXPECT_NEAR(found[0].share, 1, 1e-9);
    EXPECT_LT(found[1].share, 1e-9) << seed;
    EXPECT_LT(found[2].share, 1e-9) << seed;
  }
}

TEST(Importance, DividesBetweenTwoThatActAlike) {
  double first = 0, second = 0;
  constexpr int kRepeats = 60;
  for (unsigned seed = 0; seed < kRepeats; ++seed) {
    const auto found = shares(drawn(3, 48, 0, seed, [](int, double a, double b) { return a + b; }));
    first += found[1].share / kRepeats;
    second += found[2].share / kRepeats;
  }
  EXPECT_NEAR(first, 0.5, 0.08);
  EXPECT_NEAR(second, 0.5, 0.08);
}

// How often the low end of a factor's interval is above 0.
std::vector<double> alarms(int groups, int proposals, const std::function<double(int, double, double)>& function) {
  constexpr int kRepeats = 300;
  std::vector<double> out(3, 0);
  for (unsigned seed = 0; seed < kRepeats; ++seed) {
    const auto found = shares(drawn(groups, proposals, 1, 1000 + seed, function));
    for (std::size_t f = 0; f < out.size(); ++f) out[f] += (found[f].low > 0) / static_cast<double>(kRepeats);
  }
  return out;
}

TEST(Importance, SeldomFindsWhatIsNotThere) {
  for (const auto& [groups, proposals] : {std::pair{1, 32}, {4, 8}, {3, 16}, {4, 32}}) {
    const auto found = alarms(groups, proposals, [](int, double, double) { return 0.0; });
    for (std::size_t f = 0; f < found.size(); ++f)
      EXPECT_LE(found[f], 0.06) << groups << " groups, " << proposals << " proposals, factor " << f;
  }
}

TEST(Importance, DoesNotLendOneFactorWhatAnotherExplains) {
  // Every unit of a proposal has the same a and b: what a does must not be seen in b, nor in the group.
  const auto found = alarms(4, 24, [](int, double a, double) { return 4 * a; });
  EXPECT_LE(found[0], 0.06);
  EXPECT_GT(found[1], 0.8);
  EXPECT_LE(found[2], 0.08);
}

TEST(Importance, IsOfFirstOrder) {
  const auto found = alarms(2, 32, [](int, double a, double b) { return 8 * (a - 0.5) * (b - 0.5); });
  EXPECT_LE(found[1], 0.08) << "an interaction alone";
  EXPECT_LE(found[2], 0.08);
}

TEST(Importance, SaysNothingOfTooLittle) {
  for (const auto& one : shares(drawn(3, 7, 1, 1, [](int, double a, double) { return a; })))
    EXPECT_TRUE(std::isnan(one.share)) << one.path;
  for (const auto& one : shares(drawn(3, 16, 0, 1, [](int, double, double) { return 5.0; })))
    EXPECT_TRUE(std::isnan(one.share)) << "nothing varies, so there is nothing to explain";
  EXPECT_TRUE(std::isnan(shares(drawn(1, 16, 1, 1, [](int, double a, double) { return a; }))[0].share))
      << "a factor with one value";
}

TEST(Importance, IsTheSameEveryTime) {
  const Drawn one = drawn(3, 16, 1, 9, [](int, double a, double) { return a; });
  const auto first = shares(one), second = shares(one);
  for (std::size_t f = 0; f < first.size(); ++f) EXPECT_EQ(first[f].low, second[f].low);
}

}  // namespace
}  // namespace locus

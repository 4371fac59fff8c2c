// Rules that wait decide the same whatever runs where, when and how well (invariant 24).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulation/history.h"

namespace locus::simulation {
namespace {

struct RulesThatWait : ::testing::TestWithParam<const char*> {};

TEST_P(RulesThatWait, DecideTheSameInEveryFleetAndUnderEveryFault) {
  SearchPlan plan;
  plan.rule = GetParam();
  plan.matrix = {.name = "three", .cells = {"s0", "s1", "s2", "s3", "s4", "s5"}, .seeds = {0}, .searched = true};
  if (plan.rule == "race") plan.matrix.seeds = {0, 1, 2, 3};
  ASSERT_TRUE(waits(plan.rule));
  std::multiset<std::string> decided;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = run_search(seed, plan);
    EXPECT_EQ(outcome.invariant, 0) << "seed " << seed << ": " << outcome.what;
    if (outcome.spoiled) continue;  // what fails for good by a fault is judged as that
    EXPECT_FALSE(outcome.decided.empty());
    if (compared++ == 0) decided = outcome.decided;
    EXPECT_EQ(outcome.decided, decided) << "seed " << seed;
  }
  EXPECT_GE(compared, 12);
}

INSTANTIATE_TEST_SUITE_P(Each, RulesThatWait, ::testing::Values("halve", "hyperband", "race"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace locus::simulation

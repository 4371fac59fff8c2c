// A step's number that knows whether it was asked for.
#include "engine/base/step_number.h"

#include <gtest/gtest.h>

namespace locus::engine {
namespace {

TEST(StepNumber, KnowsWhetherItWasReadButForDraws) {
  bool asked = false;
  const StepNumber number(7, &asked);
  const StepNumber copy = number;
  EXPECT_EQ(copy.draw(), 7U);
  EXPECT_FALSE(asked);
  EXPECT_EQ(copy + 1, 8);
  EXPECT_TRUE(asked) << "a copy tells the same";
}

TEST(StepNumber, OfAnEndedRampDependsOnNothingMore) {
  bool asked = false;
  EXPECT_TRUE(StepNumber(10, &asked).reached(10));
  EXPECT_FALSE(asked);
  EXPECT_FALSE(StepNumber(9, &asked).reached(10));
  EXPECT_TRUE(asked);
}

TEST(StepNumber, IsAPlainNumberToWhoeverDoesNotWatch) {
  const StepNumber number = 3;
  EXPECT_EQ(number, 3);
  EXPECT_FALSE(number.reached(4));
}

}  // namespace
}  // namespace locus::engine

// How a trial's series becomes its number.
#include "core/analysis/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

namespace locus::server {
namespace {

std::vector<Point> series(const std::vector<std::pair<std::int64_t, double>>& points) {
  std::vector<Point> out;
  for (const auto& [step, value] : points) out.push_back({.step = step, .value = value});
  return out;
}

const SeriesKey kKey{"top1", "validation", "{}"};
const std::vector<Point> kCurve = series({{10, 70}, {20, 75}, {30, 74}, {40, std::nan("")}, {50, 72}});

using Kind = Reduction::Kind;

std::optional<Result> reduced(const Reduction& asked, bool maximize = true) {
  return reduce_points(asked, kKey, kCurve, kCurve, maximize);
}

TEST(Reduce, TakesTheBestFiniteValueAndItsStep) {
  const auto best = reduced({.kind = Kind::kBest});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->value, 75);
  EXPECT_EQ(best->step, 20);
  EXPECT_EQ(best->reducer, "best");
  EXPECT_EQ(reduced({.kind = Kind::kBest}, false)->value, 70);
}

TEST(Reduce, ChoosesOnOneSplitAndReadsTheOther) {
  const auto train = series({{5, 1}, {15, 2}, {25, 3}, {35, 4}});
  EXPECT_EQ(reduce_points({Reduction::Kind::kBest}, {"top1", "train", "{}"}, train, kCurve, true)->value, 2)
      << "the newest at step 20";
  EXPECT_FALSE(reduce_points({Reduction::Kind::kBest}, {"top1", "train", "{}"}, train, {}, true))
      << "nothing to choose by";
}

TEST(Reduce, AveragesTheTopAndRefusesFewerThanAskedFor) {
  EXPECT_DOUBLE_EQ(reduced({.kind = Kind::kTop, .count = 3})->value, (75 + 74 + 72) / 3.0);
  EXPECT_EQ(reduced({.kind = Kind::kTop, .count = 3})->reducer, "top-3");
  EXPECT_FALSE(reduced({.kind = Kind::kTop, .count = 5})) << "four are finite";
}

TEST(Reduce, ReadsTheValueAtAStepOnceItIsReached) {
  EXPECT_EQ(reduced({.kind = Kind::kAtStep, .step = 35})->value, 74);
  EXPECT_FALSE(reduced({.kind = Kind::kAtStep, .step = 60}));
  EXPECT_FALSE(reduced({.kind = Kind::kAtStep, .step = 5}));
}

TEST(Reduce, AMeanOverNaNIsNaN) { EXPECT_TRUE(std::isnan(reduced({.kind = Kind::kMean})->value)); }

TEST(Reduce, LeavesTheLastToTheStageItself) { EXPECT_FALSE(reduced({.kind = Kind::kLast})); }

}  // namespace
}  // namespace locus::server

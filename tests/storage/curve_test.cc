// Reading curves: what is superseded, and what thinning keeps.
#include "storage/rules/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace locus {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Point> curve(const std::vector<double>& values) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < values.size(); ++i) out.push_back({static_cast<std::int64_t>(i), 0, 0, 0, values[i]});
  return out;
}

std::set<std::int64_t> steps(const std::vector<Point>& points) {
  std::set<std::int64_t> out;
  for (const Point& point : points) out.insert(point.step);
  return out;
}

AttemptRow attempt(std::int64_t number, std::int64_t resume_step, const std::string& sha = "a") {
  AttemptRow row;
  row.number = number;
  row.resume_step = resume_step;
  row.resume_sha256 = sha;
  return row;
}

TEST(LiveUntil, BoundsEachAttemptByTheLowestResumeStepAfterIt) {
  const std::vector<AttemptRow> attempts = {attempt(1, 0, ""), attempt(2, 100), attempt(3, 50), attempt(4, 80)};
  const auto live = live_until(attempts);
  EXPECT_EQ(live.at(1), 50);
  EXPECT_EQ(live.at(2), 50);
  EXPECT_EQ(live.at(3), 80);
  EXPECT_EQ(live.at(4), std::numeric_limits<std::int64_t>::max());
}

TEST(LiveUntil, DropsEverythingBeforeAFreshStart) {
  const auto live = live_until(std::vector<AttemptRow>{attempt(1, 0, ""), attempt(2, 0, ""), attempt(3, 10)});
  EXPECT_FALSE(live.contains(1));
  EXPECT_EQ(live.at(2), 10);
}

TEST(ReducePoints, ReturnsAllWhenTheyFit) {
  const auto points = curve(std::vector<double>(100, 1.0));
  EXPECT_EQ(reduce_points(points, 0).size(), 100u);
  EXPECT_EQ(reduce_points(points, 100).size(), 100u);
  EXPECT_TRUE(reduce_points({}, 10).empty());
}

TEST(ReducePoints, KeepsFirstLastLowestAndHighest) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> values(500 + random() % 5000);
    for (double& value : values) value = static_cast<double>(random() % 1000);
    const std::size_t low = random() % values.size(), high = random() % values.size();
    values[low] = -1;
    values[high] = 1001;
    const int most = 16 + static_cast<int>(random() % 400);
    const auto kept = reduce_points(curve(values), most);
    EXPECT_LE(static_cast<int>(kept.size()), most);
    const auto found = steps(kept);
    EXPECT_TRUE(found.contains(0));
    EXPECT_TRUE(found.contains(static_cast<std::int64_t>(values.size()) - 1));
    EXPECT_TRUE(found.contains(static_cast<std::int64_t>(high)));
    EXPECT_TRUE(low == high || found.contains(static_cast<std::int64_t>(low)));
    EXPECT_TRUE(
        std::is_sorted(kept.begin(), kept.end(), [](const Point& a, const Point& b) { return a.step < b.step; }));
  }
}

TEST(ReducePoints, UsesMostOfTheRoomItHas) {
  std::mt19937 random(3);
  std::vector<double> values(100'000);
  for (double& value : values) value = static_cast<double>(random());
  EXPECT_GE(reduce_points(curve(values), 1000).size(), 900u);
}

TEST(ReducePoints, KeepsEveryScatteredMark) {
  std::vector<double> values(10'000, 1.0);
  std::set<std::int64_t> marks;
  for (int i = 0; i < 40; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * 250 + 3;
    values[at] = i % 3 == 0 ? kNan : i % 3 == 1 ? kInf : -kInf;
    marks.insert(static_cast<std::int64_t>(at));
  }
  const auto kept = reduce_points(curve(values), 100);
  EXPECT_LE(kept.size(), 100u);
  const auto found = steps(kept);
  EXPECT_TRUE(std::includes(found.begin(), found.end(), marks.begin(), marks.end()));
}

TEST(ReducePoints, ShrinksLongRunsOfOneMarkToTheirEnds) {
  std::vector<double> values(10'000, 1.0);
  std::fill(values.begin() + 4000, values.end(), kNan);  // diverged, and logged on
  values[6000] = kInf;
  const auto kept = reduce_points(curve(values), 50);
  EXPECT_LE(kept.size(), 50u);
  const auto found = steps(kept);
  for (const std::int64_t step : {3999, 4000, 5999, 6000, 6001, 9999}) EXPECT_TRUE(found.contains(step)) << step;
}

TEST(ReducePoints, KeepsOneMarkOfEachKindPerBucketWhenThereAreTooMany) {
  std::vector<double> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? kNan : static_cast<double>(i);
  values[5001] = -kInf;
  const auto kept = reduce_points(curve(values), 200);
  EXPECT_LE(kept.size(), 200u);
  const auto found = steps(kept);
  for (const std::int64_t step : {0, 1, 5001, 9998, 9999}) EXPECT_TRUE(found.contains(step)) << step;
  for (int bucket = 0; bucket < 20; ++bucket) {
    EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const Point& p) {
      return p.step / 500 == bucket && std::isnan(p.value);
    })) << bucket;
  }
}

TEST(ReducePoints, CountsLessThanSixteenAsSixteen) {
  const auto points = curve(std::vector<double>(1000, 1.0));
  EXPECT_EQ(reduce_points(points, 1).size(), reduce_points(points, 16).size());
  EXPECT_LE(reduce_points(points, 1).size(), 16u);
}

}  // namespace
}  // namespace locus

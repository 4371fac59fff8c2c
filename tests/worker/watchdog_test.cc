// When a silent trainer is taken for hung.
#include "worker/app/watchdog.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

constexpr Microseconds kSecond = 1'000'000;

TEST(Watchdog, AllowsALongStart) {
  const Watchdog watchdog(300 * kSecond, 60 * kSecond, 5 * kSecond);
  EXPECT_EQ(watchdog.deadline(), 305 * kSecond);
}

TEST(Watchdog, AllowsTheFloorWhileStepsAreShort) {
  Watchdog watchdog(300 * kSecond, 60 * kSecond, 0);
  for (int step = 0; step <= 10; ++step) watchdog.progress(step, step * kSecond);
  EXPECT_EQ(watchdog.deadline(), 70 * kSecond);
}

TEST(Watchdog, AllowsTwentyMedianStepsWhenTheyAreLong) {
  Watchdog watchdog(300 * kSecond, 60 * kSecond, 0);
  for (int step = 0; step <= 10; ++step) watchdog.progress(step, step * 10 * kSecond);
  EXPECT_EQ(watchdog.deadline(), (100 + 200) * kSecond);
}

TEST(Watchdog, OneSlowStepDoesNotMoveTheMedian) {
  Watchdog watchdog(300 * kSecond, 60 * kSecond, 0);
  for (int step = 0; step <= 10; ++step) watchdog.progress(step, step * kSecond);
  watchdog.progress(11, 1000 * kSecond);
  EXPECT_EQ(watchdog.deadline(), 1060 * kSecond);
}

TEST(Watchdog, CountsTheStepsBetweenTwoReports) {
  Watchdog watchdog(300 * kSecond, 60 * kSecond, 0);
  watchdog.progress(0, 0);
  watchdog.progress(100, 400 * kSecond);  // 4 s each
  EXPECT_EQ(watchdog.deadline(), (400 + 80) * kSecond);
}

TEST(Watchdog, AnyFrameIsASignOfLife) {
  Watchdog watchdog(300 * kSecond, 60 * kSecond, 0);
  watchdog.progress(1, kSecond);
  watchdog.progress(2, 2 * kSecond);
  watchdog.heard(50 * kSecond);
  EXPECT_EQ(watchdog.deadline(), 110 * kSecond);
}

}  // namespace
}  // namespace locus

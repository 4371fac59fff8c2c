// Schedules against the numbers that the published code and logs give, and against their formulas written out again.
#include "engine/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace locus::engine {
namespace {

constexpr double kPi = 3.14159265358979323846;

TEST(CosineSchedule, WarmsUpLinearlyAndEndsAtTheMinimum) {
  const CosineSchedule schedule{.peak = 1.0, .minimum = 0.1, .warmup = 4, .steps = 12};
  EXPECT_DOUBLE_EQ(schedule(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule(3), 1.0);
  EXPECT_DOUBLE_EQ(schedule(4), 1.0);
  EXPECT_DOUBLE_EQ(schedule(8), 0.55);
  EXPECT_NEAR(schedule(12), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ((CosineSchedule{.peak = 1.0, .minimum = 0, .warmup = 0, .steps = 2}(0)), 1.0);
  EXPECT_DOUBLE_EQ((CosineSchedule{.peak = 1.0, .minimum = 0, .warmup = 3, .steps = 3}(2)), 1.0);
}

constexpr TimmSchedule kDeit{
    .peak = 1e-3, .minimum = 1e-5, .warmup_rate = 1e-6, .warmup = 5, .length = 300, .late = true};

TEST(TimmSchedule, GivesTheRatesOfDeitsLogs) {
  const std::pair<std::int64_t, double> logged[] = {
      {0, 1e-6},           {1, 1e-6},           {2, 2.008e-4},         {5, 8.002e-4},
      {6, 9.993216197e-4}, {7, 9.990232306e-4}, {150, 5.101835331e-4}, {299, 1.010856168e-5}};
  for (const auto& [epoch, rate] : logged) EXPECT_NEAR(kDeit(epoch), rate, 1e-9 * rate) << "epoch " << epoch;
}

TEST(TimmSchedule, IsAnEpochLaterOnlyWhereTheCodeWas) {
  TimmSchedule punctual = kDeit;
  punctual.late = false;
  for (std::int64_t epoch = 0; epoch < 310; ++epoch) EXPECT_EQ(kDeit(epoch + 1), punctual(epoch)) << epoch;
}

TEST(TimmSchedule, StaysAtTheMinimumFromItsLengthOn) {
  EXPECT_GT(kDeit(300), 1e-5) << "a late one is not there yet";
  for (const std::int64_t epoch : {301, 305, 1000}) EXPECT_EQ(kDeit(epoch), 1e-5);
}

TEST(TimmSchedule, TakesTheWarmupOffWhereAskedTo) {
  TimmSchedule schedule = kDeit;
  schedule.late = false;
  schedule.prefix = true;
  EXPECT_DOUBLE_EQ(schedule(5), 1e-3);
  EXPECT_NEAR(schedule(155), (1e-3 + 1e-5) / 2, 1e-12);
}

TEST(TimmSchedule, FollowsAPolynomialByItsPower) {
  TimmSchedule schedule{.peak = 1.0, .minimum = 0.2, .length = 10, .power = 2};
  for (std::int64_t t = 0; t < 10; ++t)
    EXPECT_NEAR(schedule(t), 0.2 + 0.8 * std::pow(1 - static_cast<double>(t) / 10, 2), 1e-15);
}

TEST(TimmSchedule, IsConstantAfterTheWarmupWherePeakAndMinimumAgree) {
  const TimmSchedule fine_tuning{.peak = 1e-5, .minimum = 1e-5, .warmup_rate = 1e-6, .warmup = 5, .length = 20};
  for (std::int64_t t = 5; t < 25; ++t) EXPECT_DOUBLE_EQ(fine_tuning(t), 1e-5);
}

TEST(ByEpoch, KeepsTheRateWithinAnEpoch) {
  const Schedule schedule = by_epoch(kDeit, 1251);
  for (const std::int64_t epoch : {0, 2, 7, 299}) {
    EXPECT_EQ(schedule(epoch * 1251), kDeit(epoch));
    EXPECT_EQ(schedule(epoch * 1251 + 1250), kDeit(epoch));
  }
}

TEST(VtabCosine, PassesThroughZeroOneUpdateEarly) {
  const VtabCosine schedule{.peak = 1, .warmup = 60, .steps = 600};
  const std::pair<std::int64_t, double> expected[] = {{0, 0.0166667},      {59, 1},  {60, 0.99999151},
                                                      {597, 8.4929975e-6}, {598, 0}, {599, 8.4929975e-6}};
  for (const auto& [update, rate] : expected) EXPECT_NEAR(schedule(update), rate, 5e-8) << "update " << update;
  EXPECT_EQ(schedule(598), 0);
  EXPECT_GT(schedule(599), 0);
  for (std::int64_t u = 60; u < 600; ++u)
    EXPECT_NEAR(schedule(u), (1 + std::cos(kPi * static_cast<double>(u - 59) / 539)) / 2, 1e-15);
}

TEST(VtabCosine, HoldsForTrainingsOfAFewUpdates) {
  for (std::int64_t steps = 1; steps < 5; ++steps) {
    for (std::int64_t warmup = 0; warmup <= steps; ++warmup) {
      const VtabCosine schedule{.peak = 1, .warmup = warmup, .steps = steps};
      for (std::int64_t u = 0; u < steps; ++u) EXPECT_TRUE(std::isfinite(schedule(u))) << steps << " " << warmup;
    }
  }
}

TEST(PapeCosine, ReachesThePeakAfterTheWarmupAndZeroAtTheLastStep) {
  const PapeCosine schedule{.peak = 6e-4, .minimum = 0, .warmup = 18585, .steps = 371700};
  EXPECT_NEAR(schedule(0), 3.22841e-8, 1e-13);
  EXPECT_DOUBLE_EQ(schedule(18584), 6e-4);
  EXPECT_EQ(schedule(371699), 0);
  for (const std::int64_t k : {18586, 100000, 371000}) {
    const double done = static_cast<double>(k - 18585) / (371700 - 18585);
    EXPECT_NEAR(schedule(k - 1), 6e-4 * (1 + std::cos(kPi * done)) / 2, 1e-16);
  }
}

TEST(AsgCosine, BeginsAboveZeroAndEndsAStepBeforeTheMinimum) {
  const AsgCosine schedule{.peak = 7e-5, .minimum = 1e-8, .warmup_rate = 1e-7, .warmup = 3000, .steps = 528190};
  EXPECT_EQ(schedule(0), 1e-7);
  EXPECT_NEAR(schedule(1500), (7e-5 + 1e-7) / 2, 1e-18);
  EXPECT_DOUBLE_EQ(schedule(3000), 7e-5);
  EXPECT_GT(schedule(528189), 1e-8);
  EXPECT_NEAR(schedule(528190), 1e-8, 1e-20);
}

TEST(DinoCosine, BeginsAtZeroAndHasThePeakTwice) {
  const DinoCosine schedule{.base = 5e-4, .final = 1e-6, .warmup = 10, .steps = 100};
  EXPECT_EQ(schedule(0), 0);
  EXPECT_NEAR(schedule(1), 5e-4 / 9, 1e-18);
  EXPECT_EQ(schedule(9), 5e-4);
  EXPECT_EQ(schedule(10), 5e-4);
  EXPECT_NEAR(schedule(99), 1e-6 + (5e-4 - 1e-6) * (1 + std::cos(kPi * 89 / 90)) / 2, 1e-18);
  const DinoCosine momentum{.base = 0.996, .final = 1, .warmup = 0, .steps = 100};
  EXPECT_EQ(momentum(0), 0.996);
  EXPECT_LT(momentum(99), 1);
}

TEST(LinearRamp, IsDinosTeacherTemperature) {
  const LinearRamp temperature{.start = 0.04, .end = 0.07, .warmup = 30};
  EXPECT_EQ(temperature(0), 0.04);
  EXPECT_NEAR(temperature(1), 0.04 + 0.03 / 29, 1e-15);
  EXPECT_NEAR(temperature(29), 0.07, 1e-15);
  EXPECT_EQ(temperature(30), 0.07);
}

TEST(AnnealingCosine, IsHalfACosine) {
  const AnnealingCosine schedule{.base = 0.001, .minimum = 0, .length = 100};
  for (std::int64_t e = 0; e <= 100; ++e)
    EXPECT_NEAR(schedule(e), 0.001 * (1 + std::cos(kPi * static_cast<double>(e) / 100)) / 2, 1e-18);
}

}  // namespace
}  // namespace locus::engine

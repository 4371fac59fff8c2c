// AdamW against its published formula, and the schedule at its corners.
#include "engine/train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

TEST(CosineSchedule, WarmsUpLinearlyAndEndsAtTheMinimum) {
  const CosineSchedule schedule{.peak = 1.0, .minimum = 0.1, .warmup = 4, .steps = 12};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.rate(3), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(4), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(8), 0.55);
  EXPECT_NEAR(schedule.rate(12), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ((CosineSchedule{.peak = 1.0, .minimum = 0, .warmup = 0, .steps = 2}.rate(0)), 1.0);
  EXPECT_DOUBLE_EQ((CosineSchedule{.peak = 1.0, .minimum = 0, .warmup = 3, .steps = 3}.rate(2)), 1.0);
}

Tensor parameter(std::vector<double> values) { return at::tensor(values, at::kDouble).set_requires_grad(true); }

TEST(AdamW, FollowsLoshchilovAndHutterStepByStep) {
  const Tensor weight = parameter({1.0, -2.0, 0.5}), bias = parameter({0.3});
  AdamW optimizer({{"weight", weight, true}, {"bias", bias, false}}, {.weight_decay = 0.1});
  std::vector<double> w{1.0, -2.0, 0.5, 0.3}, m(4), v(4);
  for (int t = 1; t <= 5; ++t) {
    const std::vector<double> g{0.1 * t, -0.2, 0.05 * t * t, 1.0 / t};
    weight.mutable_grad() = at::tensor({g[0], g[1], g[2]}, at::kDouble);
    bias.mutable_grad() = at::tensor({g[3]}, at::kDouble);
    const double rate = 0.01 / t;
    optimizer.step(rate);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i < 3) w[i] -= rate * 0.1 * w[i];
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      w[i] -= rate * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const double found = i < 3 ? weight[static_cast<std::int64_t>(i)].item<double>() : bias[0].item<double>();
      EXPECT_NEAR(found, w[i], 1e-12) << "step " << t << " value " << i;
    }
  }
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_EQ(optimizer.steps(), 5);
}

// Attention keeps masks made from parameters for as long as their versions stand still.
TEST(AdamW, RaisesTheVersionOfWhatItChanges) {
  const Tensor weight = parameter({1.0}), bias = parameter({1.0});
  AdamW optimizer({{"weight", weight, true}, {"bias", bias, false}}, {});
  const auto before = std::pair(weight._version(), bias._version());
  weight.mutable_grad() = at::ones({1}, at::kDouble);
  bias.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_GT(weight._version(), before.first);
  EXPECT_GT(bias._version(), before.second);
}

TEST(AdamW, LeavesParametersWithoutGradientAlone) {
  const Tensor used = parameter({1.0}), idle = parameter({1.0});
  AdamW optimizer({{"used", used, true}, {"idle", idle, true}}, {.weight_decay = 0.5});
  used.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_LT(used.item<double>(), 1.0);
  EXPECT_EQ(idle.item<double>(), 1.0);
}

TEST(AdamW, ClipsTheJointNorm) {
  const Tensor a = parameter({0.0}), b = parameter({0.0});
  AdamW optimizer({{"a", a, true}, {"b", b, true}}, {});
  a.mutable_grad() = at::full({1}, 3.0, at::kDouble);
  b.mutable_grad() = at::full({1}, 4.0, at::kDouble);
  optimizer.clip(10);
  EXPECT_DOUBLE_EQ(a.grad().item<double>(), 3.0);
  optimizer.clip(1);
  EXPECT_NEAR(a.grad().item<double>(), 0.6, 1e-5);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-5);
}

TEST(AdamW, GoesOnFromSavedMomentsExactly) {
  const auto run = [](AdamW& optimizer, const Tensor& weight, int first, int last) {
    for (int t = first; t <= last; ++t) {
      weight.mutable_grad() = at::full({2}, 0.3 * t, at::kDouble);
      optimizer.step(0.01);
    }
  };
  const Tensor whole = parameter({1, 2}), half = parameter({1, 2});
  AdamW undisturbed({{"w", whole, true}}, {.weight_decay = 0.1}), early({{"w", half, true}}, {.weight_decay = 0.1});
  run(undisturbed, whole, 1, 6);
  run(early, half, 1, 3);
  std::map<std::string, Tensor> tensors;
  early.save(tensors);
  const Tensor other = half.detach().clone().set_requires_grad(true);
  AdamW late({{"w", other, true}}, {.weight_decay = 0.1});
  late.load(tensors, early.steps());
  EXPECT_TRUE(tensors.empty());
  run(late, other, 4, 6);
  EXPECT_TRUE(at::equal(whole, other));
}

TEST(AdamW, RefusesMomentsThatAreMissingOrMisshapen) {
  AdamW optimizer({{"w", parameter({1, 2}), true}}, {});
  std::map<std::string, Tensor> none, wrong{{"optimizer.exp_avg.w", at::zeros({3}, at::kDouble)}};
  EXPECT_THROW(optimizer.load(none, 1), DataError);
  EXPECT_THROW(optimizer.load(wrong, 1), DataError);
}

}  // namespace
}  // namespace locus::engine

// Optimizers against their published formulas, and the schedule at its corners.
#include "engine/train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/failure.h"
#include "engine/train/schedule.h"

namespace locus::engine {
namespace {

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

std::vector<ParameterGroup> groups(std::vector<NamedParameter> decayed, std::vector<NamedParameter> exempt = {},
                                   double weight_decay = 0) {
  return {{std::move(decayed), weight_decay}, {std::move(exempt)}};
}

Tensor parameter(std::vector<double> values) { return at::tensor(values, at::kDouble).set_requires_grad(true); }

TEST(AdamW, FollowsLoshchilovAndHutterStepByStep) {
  const Tensor weight = parameter({1.0, -2.0, 0.5}), bias = parameter({0.3});
  AdamW optimizer(groups({{"weight", weight}}, {{"bias", bias}}, 0.1), {});
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
  AdamW optimizer(groups({{"weight", weight}}, {{"bias", bias}}), {});
  const auto before = std::pair(weight._version(), bias._version());
  weight.mutable_grad() = at::ones({1}, at::kDouble);
  bias.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_GT(weight._version(), before.first);
  EXPECT_GT(bias._version(), before.second);
}

TEST(AdamW, LeavesParametersWithoutGradientAlone) {
  const Tensor used = parameter({1.0}), idle = parameter({1.0});
  AdamW optimizer(groups({{"used", used}, {"idle", idle}}, {}, 0.5), {});
  used.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_LT(used.item<double>(), 1.0);
  EXPECT_EQ(idle.item<double>(), 1.0);
}

TEST(ClipJointNorm, ScalesAllGradientsAlike) {
  const Tensor a = parameter({0.0}), b = parameter({0.0});
  const std::vector<Tensor> both = {a, b};
  a.mutable_grad() = at::full({1}, 3.0, at::kDouble);
  b.mutable_grad() = at::full({1}, 4.0, at::kDouble);
  clip_joint_norm(both, 10);
  EXPECT_DOUBLE_EQ(a.grad().item<double>(), 3.0);
  clip_joint_norm(both, 1);
  EXPECT_NEAR(a.grad().item<double>(), 0.6, 1e-5);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-5);
}

TEST(Optimizer, TrainsEachGroupAtItsOwnRateAndDecay) {
  const Tensor fast = parameter({1.0}), slow = parameter({1.0});
  Sgd optimizer({{{{"fast", fast}}, 0.0, 1.0}, {{{"slow", slow}}, 0.5, 0.1}}, {.momentum = 0});
  for (const Tensor& each : {fast, slow}) each.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.2);
  EXPECT_DOUBLE_EQ(fast.item<double>(), 1 - 0.2);
  EXPECT_DOUBLE_EQ(slow.item<double>(), 1 - 0.02 * (1 + 0.5));
  optimizer.groups()[1].lr_scale = 0;
  slow.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.2);
  EXPECT_DOUBLE_EQ(slow.item<double>(), 1 - 0.02 * (1 + 0.5));
}

TEST(Optimizer, RefusesAParameterInTwoGroups) {
  const Tensor weight = parameter({1.0});
  EXPECT_THROW(Sgd({{{{"weight", weight}}}, {{{"weight", weight}}}}, {}), std::logic_error);
}

// b = mu b + g with g = gradient + decay p; p -= rate b, or rate (g + mu b) with Nesterov's momentum.
TEST(Sgd, FollowsItsFormulaStepByStep) {
  for (const bool nesterov : {false, true}) {
    const Tensor weight = parameter({1.0, -2.0}), bias = parameter({0.3});
    Sgd optimizer(groups({{"weight", weight}}, {{"bias", bias}}, 0.1), {.momentum = 0.8, .nesterov = nesterov});
    std::vector<double> p{1.0, -2.0, 0.3}, b(3);
    for (int t = 1; t <= 5; ++t) {
      const std::vector<double> given{0.1 * t, -0.2, 1.0 / t};
      weight.mutable_grad() = at::tensor({given[0], given[1]}, at::kDouble);
      bias.mutable_grad() = at::tensor({given[2]}, at::kDouble);
      optimizer.step(0.05 * t);
      for (std::size_t i = 0; i < 3; ++i) {
        const double g = given[i] + (i < 2 ? 0.1 * p[i] : 0);
        b[i] = t == 1 ? g : 0.8 * b[i] + g;
        p[i] -= 0.05 * t * (nesterov ? g + 0.8 * b[i] : b[i]);
      }
      EXPECT_NEAR(weight[0].item<double>(), p[0], 1e-12) << "step " << t;
      EXPECT_NEAR(weight[1].item<double>(), p[1], 1e-12) << "step " << t;
      EXPECT_NEAR(bias[0].item<double>(), p[2], 1e-12) << "step " << t;
    }
  }
}

TEST(AdamW, GoesOnFromSavedMomentsExactly) {
  const auto run = [](AdamW& optimizer, const Tensor& weight, int first, int last) {
    for (int t = first; t <= last; ++t) {
      weight.mutable_grad() = at::full({2}, 0.3 * t, at::kDouble);
      optimizer.step(0.01);
    }
  };
  const Tensor whole = parameter({1, 2}), half = parameter({1, 2});
  AdamW undisturbed(groups({{"w", whole}}, {}, 0.1), {}), early(groups({{"w", half}}, {}, 0.1), {});
  run(undisturbed, whole, 1, 6);
  run(early, half, 1, 3);
  std::map<std::string, Tensor> tensors;
  early.save(tensors);
  const Tensor other = half.detach().clone().set_requires_grad(true);
  AdamW late(groups({{"w", other}}, {}, 0.1), {});
  late.load(tensors, early.steps());
  EXPECT_TRUE(tensors.empty());
  run(late, other, 4, 6);
  EXPECT_TRUE(at::equal(whole, other));
}

TEST(AdamW, RefusesMomentsThatAreMissingOrMisshapen) {
  AdamW optimizer(groups({{"w", parameter({1, 2})}}), {});
  std::map<std::string, Tensor> none, wrong{{"optimizer.exp_avg.w", at::zeros({3}, at::kDouble)}};
  EXPECT_THROW(optimizer.load(none, 1), DataError);
  EXPECT_THROW(optimizer.load(wrong, 1), DataError);
}

}  // namespace
}  // namespace locus::engine

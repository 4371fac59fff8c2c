// Hooks: what they do to weights, and that scoring with others leaves no trace.
#include "engine/train/hook.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

// A task of one weight and two buffers, of which one counts.
class OneWeight final : public Task {
 public:
  OneWeight() {
    weight = register_parameter("weight", at::tensor({1.0, 2.0}, at::kDouble));
    mean = register_buffer("mean", at::tensor({4.0}, at::kDouble));
    count = register_buffer("count", at::tensor({0}, at::kLong));
  }
  Batch example_batch(std::int64_t, const Extent&, const RandomStreams&) const override { return {}; }
  Tensor predict(const Batch&, const ForwardContext&) override { return weight; }
  std::int64_t flops(std::int64_t, std::int64_t) const override { return 0; }
  StepLosses train_step(const Batch&, const ForwardContext&) override { return {}; }
  std::unique_ptr<Accumulator> accumulator() const override { return nullptr; }
  void evaluate(const Batch&, const ForwardContext&, Accumulator&) override {}
  Decay decay(std::string_view, const Tensor&) const override { return Decay::kExempt; }
  bool training_only(std::string_view) const override { return false; }
  std::string path() const override { return ""; }

  Tensor weight, mean, count;
};

class Averages : public ::testing::Test {
 protected:
  void move(double by) {
    const at::NoGradGuard no_gradient;
    task_.weight.add_(by);
    task_.mean.sub_(by);
    task_.count.add_(1);
    hook_.after_step({context_, task_, optimizer_});
  }

  RandomStreams random_{0};
  ForwardContext context_{.step = 0, .steps = 1, .training = true, .random = random_};
  OneWeight task_;
  Sgd optimizer_{{}, {}};
  AverageWeights hook_{task_, 0.75};
};

TEST_F(Averages, FollowTheWeightsFromTheirFirstValues) {
  move(1);
  move(1);
  hook_.exchange_weights(task_);
  // e0 = 1; e1 = 0.75 e0 + 0.25 * 2; e2 = 0.75 e1 + 0.25 * 3
  EXPECT_DOUBLE_EQ(task_.weight[0].item<double>(), 0.75 * 1.25 + 0.25 * 3);
  EXPECT_DOUBLE_EQ(task_.mean.item<double>(), 0.75 * (0.75 * 4 + 0.25 * 3) + 0.25 * 2);
  EXPECT_EQ(task_.count.item<std::int64_t>(), 2) << "what counts is copied, not averaged";
}

TEST_F(Averages, AreScoredWithoutATrace) {
  move(0.1);
  const Tensor before = task_.weight.detach().clone();
  const auto version = task_.weight._version();
  TrainingHooks hooks;
  hooks.push_back(std::make_unique<AverageWeights>(hook_));
  {
    const ReportedWeights reported(hooks, task_);
    EXPECT_FALSE(at::equal(task_.weight, before));
    EXPECT_GT(task_.weight._version(), version) << "whoever keeps values derived from weights must see it";
  }
  EXPECT_TRUE(at::equal(task_.weight, before));
}

TEST_F(Averages, AreKeptAndNotScoredWhereTheWeightsAreReported) {
  AverageWeights kept(task_, {.decay = 0.75, .reported = false});
  const Tensor before = task_.weight.detach().clone();
  task_.weight.detach().add_(1);
  kept.after_step({context_, task_, optimizer_});
  kept.exchange_weights(task_);
  EXPECT_TRUE(at::equal(task_.weight, before + 1));
  std::map<std::string, Tensor> tensors;
  kept.save(tensors);
  EXPECT_TRUE(at::allclose(tensors.at("hook.average.weight"), before + 0.25));
}

TEST_F(Averages, GiveTheOtherWeightsBesideThoseThatAreReported) {
  for (const bool average_is_reported : {true, false}) {
    AverageWeights hook(task_, {.decay = 0.75, .reported = average_is_reported});
    const double first = task_.weight.detach()[0].item<double>();
    {
      const at::NoGradGuard no_gradient;
      task_.weight.add_(1);
    }
    hook.after_step({context_, task_, optimizer_});
    const Tensor raw = task_.weight.detach().clone();
    hook.exchange_weights(task_);
    const Tensor reported = task_.weight.detach().clone();
    EXPECT_EQ(hook.exchange_others(task_), average_is_reported ? "raw" : "ema");
    EXPECT_DOUBLE_EQ(task_.weight[0].item<double>(), average_is_reported ? first + 1 : first + 0.25);
    hook.exchange_others(task_);
    EXPECT_TRUE(at::equal(task_.weight, reported));
    hook.exchange_weights(task_);
    EXPECT_TRUE(at::equal(task_.weight, raw)) << "and nothing is left of it";
  }
  ClipGradients keeps_none(task_, ClipRule::kJoint, 1);
  EXPECT_EQ(keeps_none.exchange_others(task_), "");
}

// ModelEmaV3 written out: e += (1 - d) (x - e), d by the number of the update.
TEST(AveragesOfTheThirdForm, FollowTheirFormula) {
  for (const bool warmup : {false, true}) {
    for (const std::int64_t after : {0, 2}) {
      const AveragingSettings settings{.decay = 0.6, .third = true, .after = after, .warmup = warmup};
      const Tensor average = at::tensor({1.0, -2.0}, at::kDouble), count = at::tensor({3}, at::kLong);
      double plain[] = {1.0, -2.0};
      for (std::int64_t update = 1; update <= 8; ++update) {
        const double x = 0.3 * static_cast<double>(update * update);
        follow({average, count}, {at::tensor({x, -x}, at::kDouble), at::tensor({update}, at::kLong)}, settings, update);
        const auto s = static_cast<double>(update - after - 1);
        double decay = s <= 0 ? 0 : 0.6;
        if (s > 0 && warmup) decay = std::min(0.6, 1 - std::pow(1 + s, -2.0 / 3));
        for (int i = 0; i < 2; ++i) {
          plain[i] += (1 - decay) * ((i == 0 ? x : -x) - plain[i]);
          EXPECT_NEAR(average[i].item<double>(), plain[i], 1e-13) << "update " << update;
        }
        EXPECT_EQ(count.item<std::int64_t>(), update) << "what counts is copied";
      }
    }
  }
}

TEST(ClipGradients, KnowsItsRulesByName) {
  EXPECT_EQ(clip_rule_of("tensor"), ClipRule::kTensor);
  EXPECT_THROW(clip_rule_of("row"), std::invalid_argument);
}

TEST_F(Averages, GoOnFromACheckpoint) {
  move(1);
  std::map<std::string, Tensor> tensors;
  hook_.save(tensors);
  for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  AverageWeights other(task_, 0.75);
  other.load(tensors);
  EXPECT_TRUE(tensors.empty());
  move(1);
  other.after_step({context_, task_, optimizer_});
  std::map<std::string, Tensor> ours, theirs;
  hook_.save(ours);
  other.save(theirs);
  for (const auto& [name, tensor] : ours) EXPECT_TRUE(at::equal(tensor, theirs.at(name))) << name;
  std::map<std::string, Tensor> none;
  EXPECT_THROW(other.load(none), DataError);
}

}  // namespace
}  // namespace locus::engine

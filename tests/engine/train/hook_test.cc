// Hooks: what they do to weights, and that scoring with others leaves no trace.
#include "engine/train/hook.h"

#include <gtest/gtest.h>

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

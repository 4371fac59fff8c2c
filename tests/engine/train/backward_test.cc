// The scale of the loss in half precision, and batches computed in parts.
#include "engine/train/loss_scaler.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "engine/base/failure.h"
#include "engine/train/backward.h"
#include "engine/train/recipe.h"

namespace locus::engine {
namespace {

TEST(LossScaler, GrowsAfterSoManyFiniteStepsInARow) {
  LossScaler scaler;
  for (int step = 0; step < 1999; ++step) scaler.update(true);
  EXPECT_EQ(scaler.scale(), 65536);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 131072);
  for (int step = 0; step < 1999; ++step) scaler.update(true);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 65536) << "the count begins anew";
  for (int step = 0; step < 1999; ++step) scaler.update(true);
  EXPECT_EQ(scaler.scale(), 65536);
}

TEST(LossScaler, StaysWithinFloat32) {
  LossScaler scaler({.start = 0x1p127, .growth = 2, .backoff = 0.5, .interval = 1});
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 0x1p127);
}

TEST(LossScaler, TakesTheScaleOutOfGradientsAndFindsWhatIsNotFinite) {
  const LossScaler scaler({.start = 8, .growth = 2, .backoff = 0.5, .interval = 10});
  const Tensor fine = at::tensor({8.0f, -4.0f}), broken = at::tensor({1.0f, NAN});
  EXPECT_TRUE(scaler.unscale({fine}));
  EXPECT_TRUE(at::equal(fine, at::tensor({1.0f, -0.5f})));
  EXPECT_FALSE(scaler.unscale({fine, broken}));
  EXPECT_FALSE(scaler.unscale({at::full({3}, INFINITY)}));
  EXPECT_TRUE(scaler.unscale({}));
}

TEST(LossScaler, GoesOnFromACheckpoint) {
  const LossScaler::Settings settings{.start = 64, .growth = 2, .backoff = 0.5, .interval = 3};
  LossScaler whole(settings), late(settings);
  whole.update(false);
  whole.update(true);
  whole.update(true);
  std::map<std::string, Tensor> tensors;
  whole.save(tensors);
  late.load(tensors);
  EXPECT_TRUE(tensors.empty());
  whole.update(true);
  late.update(true);
  EXPECT_EQ(whole.scale(), 64);
  EXPECT_EQ(late.scale(), whole.scale());
  std::map<std::string, Tensor> none;
  EXPECT_THROW(late.load(none), DataError);
}

const RandomStreams kRandom(3);

std::shared_ptr<Task> make() {
  const Json configuration = {
      {"task", {{"id", "classification"}}},
      {"model",
       {{"id", "vit"}, {"options", {{"dim", 16}, {"depth", 2}, {"heads", 2}, {"patch", 4}, {"drop_path", 0.4}}}}},
      {"priors", {{{"id", "violin"}}}}};
  const Json facts = {{"channels", 1}, {"extent", {8, 8}}, {"classes", 3}};
  return make_task({configuration, facts, kRandom});
}

std::map<std::string, Tensor> gradients_of(Task& task) {
  std::map<std::string, Tensor> out;
  for (const auto& item : task.named_parameters()) out[item.key()] = item.value().grad();
  task.zero_grad();
  return out;
}

TEST(PartsOfABatch, AreItsSamplesInOrder) {
  const Batch batch = {{"image", at::arange(14).view({7, 2})}, {"label", at::arange(7)}};
  Tensor labels = at::empty({0}, at::kLong);
  for (const Batch& part : parts_of(batch, 3)) {
    EXPECT_EQ(part.at("image").size(0), part.at("label").size(0));
    EXPECT_GE(part.at("label").size(0), 2);
    labels = at::cat({labels, part.at("label")});
  }
  EXPECT_TRUE(at::equal(labels, at::arange(7)));
  EXPECT_THROW(parts_of(batch, 8), std::invalid_argument);
  EXPECT_THROW(parts_of({{"image", at::zeros({4, 1})}, {"boxes", at::zeros({9, 4})}}, 2), std::invalid_argument);
}

// Paths are dropped by a sample's place in the whole batch, so the parts see what the whole saw.
TEST(BackwardPass, GivesTheGradientsOfTheWholeBatchFromItsParts) {
  const auto task = make();
  const Batch batch = task->example_batch(12, {8, 8}, kRandom);
  const ForwardContext context{.step = 5, .steps = 10, .training = true, .random = kRandom};
  const double loss = BackwardPass(Precision::kFloat32, 1, at::kCPU).run(*task, batch, context).loss.item<double>();
  const auto whole = gradients_of(*task);
  for (const std::int64_t parts : {2, 3, 5, 12}) {
    const StepLosses losses = BackwardPass(Precision::kFloat32, parts, at::kCPU).run(*task, batch, context);
    EXPECT_NEAR(losses.loss.item<double>(), loss, 1e-6);
    EXPECT_EQ(losses.fields.at(0).first, "loss");
    EXPECT_NEAR(losses.fields.at(0).second.item<double>(), loss, 1e-6);
    for (const auto& [name, gradient] : gradients_of(*task)) {
      ASSERT_TRUE(gradient.defined()) << name;
      EXPECT_TRUE(at::allclose(gradient, whole.at(name), 1e-4, 1e-6)) << parts << " parts: " << name;
    }
  }
}

TEST(BackwardPass, ScalesTheLossOfHalfPrecisionAndTakesTheScaleOut) {
  const auto task = make();
  const Batch batch = task->example_batch(8, {8, 8}, kRandom);
  const ForwardContext context{.step = 0, .steps = 10, .training = true, .random = kRandom};
  BackwardPass(Precision::kFloat32, 1, at::kCPU).run(*task, batch, context);
  const auto exact = gradients_of(*task);
  BackwardPass half(Precision::kFloat16, 1, at::kCPU);
  half.run(*task, batch, context);
  const Tensor head = task->named_parameters()["head.weight"];
  EXPECT_GT(head.grad().abs().max().item<double>(), 1000 * exact.at("head.weight").abs().max().item<double>());
  EXPECT_TRUE(half.unscale(decay_groups(*task, 0)));
  EXPECT_TRUE(at::allclose(head.grad(), exact.at("head.weight"), 0.05, 1e-3));
  head.mutable_grad()[0][0] = INFINITY;
  EXPECT_FALSE(half.unscale(decay_groups(*task, 0)));
}

TEST(BackwardPass, ComputesInThePrecisionAskedFor) {
  const auto task = make();
  const Batch batch = task->example_batch(8, {8, 8}, kRandom);
  const ForwardContext context{.step = 0, .steps = 10, .training = true, .random = kRandom};
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
    const StepLosses losses = BackwardPass(precision, 2, at::kCPU).run(*task, batch, context);
    EXPECT_EQ(losses.loss.scalar_type(), at::kFloat) << "losses are sums";
    for (const auto& [name, gradient] : gradients_of(*task)) EXPECT_EQ(gradient.scalar_type(), at::kFloat) << name;
    const Autocast cast(precision, at::kCPU);
    EXPECT_EQ(at::matmul(at::ones({2, 2}), at::ones({2, 2})).scalar_type(),
              precision == Precision::kBfloat16 ? at::kBFloat16 : at::kHalf);
    const Autocast off(Precision::kFloat32, at::kCPU);
    EXPECT_EQ(at::matmul(at::ones({2, 2}), at::ones({2, 2})).scalar_type(), at::kFloat);
  }
  EXPECT_EQ(at::matmul(at::ones({2, 2}), at::ones({2, 2})).scalar_type(), at::kFloat) << "as before";
}

TEST(BackwardPass, LetsProductsBeRoundedInBothPassesOfTf32AndInNoOther) {
  const auto rounds = [] {
    EXPECT_EQ(at::globalContext().allowTF32CuDNN(), at::globalContext().allowTF32CuBLAS());
    return at::globalContext().allowTF32CuBLAS();
  };
  const auto task = make();
  const Batch batch = task->example_batch(8, {8, 8}, kRandom);
  const ForwardContext context{.step = 0, .steps = 10, .training = true, .random = kRandom};
  int steps = 0;
  for (const Precision precision : {Precision::kTf32, Precision::kFloat32, Precision::kBfloat16}) {
    const Tensor weight = task->named_parameters()["head.weight"];
    const unsigned hook = weight.register_hook([&](const Tensor&) {
      ++steps;
      EXPECT_EQ(rounds(), precision == Precision::kTf32) << name_of(precision);
    });
    BackwardPass(precision, 1, at::kCPU).run(*task, batch, context);
    weight.remove_hook(hook);
    const Autocast cast(precision, at::kCPU);
    EXPECT_EQ(rounds(), precision == Precision::kTf32);
    EXPECT_EQ(at::matmul(at::ones({2, 2}), at::ones({2, 2})).scalar_type(),
              precision == Precision::kBfloat16 ? at::kBFloat16 : at::kFloat);
    const Autocast off(Precision::kFloat32, at::kCPU);
    EXPECT_FALSE(rounds()) << "within another, too";
  }
  EXPECT_EQ(steps, 3);
}

TEST(BackwardPass, LeavesConvolutionsOfOtherThreadsOfItsPrecisionAlone) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([precision] {
        at::set_num_threads(1);
        for (int i = 0; i < 2000; ++i) {
          const Autocast cast(precision, at::kCPU);
          EXPECT_NO_THROW(at::conv2d(at::ones({1, 1, 2, 2}), at::ones({1, 1, 1, 1})));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Precisions, AreKnownByName) {
  for (const char* name : {"float32", "tf32", "bfloat16", "float16"}) EXPECT_EQ(name_of(precision_of(name)), name);
  EXPECT_THROW(precision_of("float8"), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine

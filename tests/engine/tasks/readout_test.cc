// What a head reads, what it starts from, and a backbone of which nothing learns.
#include <gmock/gmock.h>

#include "engine/tasks/tuning.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kWidth = 8;
const Json kReadoutFacts = {{"channels", 1}, {"extent", {8, 8}}, {"classes", 3}};
const RandomStreams kReadoutRandom(3);

Json readout_configuration(const Json& task_options, const Json& model_options = Json::object()) {
  Json model = {{"dim", kWidth}, {"depth", 3}, {"heads", 2}, {"patch", 4}, {"pool", "cls"}, {"registers", 2}};
  model.update(model_options);
  return {{"task", {{"id", "classification"}, {"options", task_options}}},
          {"model", {{"id", "vit"}, {"options", model}}},
          {"priors", {{{"id", "learned-absolute"}}}}};
}
std::shared_ptr<Task> readout_task(const Json& document) {
  return make_task({document, kReadoutFacts, kReadoutRandom});
}
Batch readout_batch(std::int64_t count) {
  return {{kImage, kReadoutRandom.normal("test", "image", 0, {count, 1, 8, 8})},
          {kLabel, at::arange(count).remainder(3)}};
}
ForwardContext readout_context(bool training) { return {0, 10, training, kReadoutRandom}; }

// The tokens after every block and the final norm's weights, from outside.
struct Inside {
  std::vector<Tensor> blocks;
  Tensor normed(const Tensor& tokens) const {
    const Tensor mean = tokens.mean(-1, true), variance = (tokens - mean).square().mean(-1, true);
    return (tokens - mean) / (variance + 1e-6).sqrt() * weight + bias;
  }
  Tensor weight, bias;
};
Inside inside(const Task& task, const Batch& batch) {
  const auto backbone = std::dynamic_pointer_cast<Backbone>(task.named_modules()["backbone"]);
  for (int l = 0; l < 3; ++l) backbone->request_tap("block-" + std::to_string(l));
  const Features features = backbone->forward(batch.at(kImage), readout_context(false));
  Inside out;
  for (int l = 0; l < 3; ++l) out.blocks.push_back(features.taps.at("block-" + std::to_string(l)));
  out.weight = backbone->named_parameters()["norm.weight"];
  out.bias = backbone->named_parameters()["norm.bias"];
  return out;
}
double apart(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() ? (a - b).abs().max().item<double>() : std::numeric_limits<double>::infinity();
}

TEST(Readout, OfTheLastBlocksIsTheirClassTokensThroughTheFinalNormEarliestFirst) {
  const at::NoGradGuard no_gradient;
  const auto task = readout_task(readout_configuration({{"features", "last-blocks"}, {"feature_blocks", 2}}));
  task->named_parameters()["backbone.norm.weight"].mul_(1.5);
  const Batch batch = readout_batch(5);
  const Inside seen = inside(*task, batch);
  const Tensor found = task->features(batch, readout_context(false));
  for (std::int64_t i = 0; i < 2; ++i) {
    const Tensor expected = seen.normed(seen.blocks[static_cast<std::size_t>(1 + i)]).select(1, 0);
    EXPECT_LT(apart(found.slice(1, kWidth * i, kWidth * (i + 1)), expected), 1e-5) << i;
  }
  EXPECT_EQ(found.size(1), 2 * kWidth);
  EXPECT_EQ(task->named_parameters()["head.weight"].size(1), 2 * kWidth);
}

TEST(Readout, OfPooledAndMeanInterleavesTheClassTokenWithTheMeanOfThePatchesAlone) {
  const at::NoGradGuard no_gradient;
  const auto task = readout_task(readout_configuration({{"features", "pooled-and-mean"}}));
  const Batch batch = readout_batch(5);
  const Inside seen = inside(*task, batch);
  const Tensor tokens = seen.normed(seen.blocks[2]), found = task->features(batch, readout_context(false));
  ASSERT_EQ(found.size(1), 2 * kWidth);
  for (std::int64_t image = 0; image < 5; ++image) {
    for (std::int64_t c = 0; c < kWidth; ++c) {
      double mean = 0;
      for (std::int64_t patch = 0; patch < 4; ++patch) mean += tokens[image][3 + patch][c].item<double>() / 4;
      EXPECT_NEAR(found[image][2 * c].item<double>(), tokens[image][0][c].item<double>(), 1e-5);
      EXPECT_NEAR(found[image][2 * c + 1].item<double>(), mean, 1e-5);
    }
  }
}

TEST(Readout, IsWhatTheBackbonePoolsUnlessAskedOtherwise) {
  const at::NoGradGuard no_gradient;
  const auto task = readout_task(readout_configuration(Json::object()));
  const Batch batch = readout_batch(5);
  const Inside seen = inside(*task, batch);
  EXPECT_LT(apart(task->features(batch, readout_context(false)), seen.normed(seen.blocks[2]).select(1, 0)), 1e-5);
}

TEST(Readout, RefusesMoreBlocksThanThereAre) {
  try {
    readout_task(readout_configuration({{"features", "last-blocks"}, {"feature_blocks", 4}}));
    FAIL() << "the model has three blocks";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("feature_blocks is 4"));
    EXPECT_THAT(error.what(), HasSubstr("blocks: 3"));
  }
}

TEST(Head, StartsWithTheDeviationAskedFor) {
  for (const double deviation : {2e-5, 0.01, 0.02}) {
    const auto task = readout_task(readout_configuration({{"head_std", deviation}}, {{"dim", 512}}));
    const Tensor weight = task->named_parameters()["head.weight"];
    EXPECT_NEAR(weight.std().item<double>() / deviation, 1, 0.06);
    EXPECT_LT(weight.abs().max().item<double>(), 6 * deviation);
    EXPECT_EQ(task->named_parameters()["head.bias"].abs().max().item<double>(), 0);
  }
}

TEST(FrozenBackbone, RunsAsWhenItIsScoredAndKeepsNoGradients) {
  const auto task = readout_task(readout_configuration(Json::object(), {{"drop_path", 0.9}}));
  const auto loss = [&] { return task->train_step(readout_batch(8), readout_context(true)).loss; };
  const Tensor learning = loss();
  task->hold(within_backbones(*task));
  const Tensor held = loss();
  Tensor scored;
  {
    const at::NoGradGuard no_gradient;
    scored =
        at::cross_entropy_loss(task->predict(readout_batch(8), readout_context(false)), readout_batch(8).at(kLabel));
  }
  EXPECT_EQ(held.item<double>(), scored.item<double>());
  EXPECT_NE(held.item<double>(), learning.item<double>()) << "while it learns paths are dropped";
  held.backward();
  for (const auto& item : task->named_parameters())
    EXPECT_EQ(item.value().grad().defined(), item.key().starts_with("head.")) << item.key();
}

TEST(HeldParameters, NeitherLearnNorComeBack) {
  const auto task = readout_task(readout_configuration(Json::object()));
  task->hold([](const std::string& name) { return name == "head.bias"; });
  EXPECT_TRUE(task->holds("head.bias"));
  EXPECT_FALSE(task->holds("head.weight"));
  EXPECT_FALSE(task->named_parameters()["head.bias"].requires_grad());
  task->named_parameters()["head.weight"].set_requires_grad(false);
  task->hold([](const std::string&) { return true; });
  EXPECT_FALSE(task->holds("head.weight")) << "what did not learn before is whoever's it was";
}

}  // namespace
}  // namespace locus::engine

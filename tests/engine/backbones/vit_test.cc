// The Vision Transformer: its function by definition, counts, initial weights, taps, refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;
using test::small_model;
using test::test_context;
using test::test_images;

std::shared_ptr<Backbone> vit(const Json& options, const InputFacts& input, std::uint64_t seed = 0) {
  return make_backbone({{"model", {{"id", "vit"}, {"options", options}}}, {"priors", Json::array()}}, input,
                       RandomStreams(seed));
}

std::int64_t count(const Backbone& model) {
  std::int64_t sum = 0;
  for (const Tensor& p : model.parameters()) sum += p.numel();
  return sum;
}

std::string refusal(const Json& options, const InputFacts& input) {
  try {
    vit(options, input);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// Pixel-level CIFAR-100: 5,555,812 with class token, 100-class head (192 x 100 + 100) and no position
// embedding apart from 1,025 rows.
TEST(Vit, HasTheParametersOfDeitTiny) {
  const Json tiny = {{"dim", 192}, {"depth", 12}, {"heads", 3}, {"patch", 1}, {"pool", "cls"}};
  EXPECT_EQ(count(*vit(tiny, {3, {32, 32}})) + 192 * 100 + 100 + 1025 * 192, 5555812);
  const Json base = {{"dim", 768}, {"depth", 1}, {"heads", 12}, {"patch", 16}, {"pool", "cls"}};
  EXPECT_EQ(count(*vit(base, {3, {224, 224}})), 16 * 16 * 3 * 768 + 768 + 768 + (12 * 768 * 768 + 13 * 768) + 2 * 768);
}

// The whole forward pass written out once more from the parameters.
TEST(Vit, ComputesItsDefinition) {
  const auto model =
      small_model({}, {.extent = {6, 8}, .pool = "cls", .registers = 1, .dim = 8, .depth = 2, .heads = 2});
  model->to(at::kDouble);
  const Tensor images = test_images(2, {6, 8}).to(at::kDouble);
  const auto p = model->named_parameters();
  const auto norm = [&](const Tensor& x, const std::string& name) {
    const Tensor centered = x - x.mean(-1, true);
    return centered / (centered.square().mean(-1, true) + 1e-6).sqrt() * p[name + ".weight"] + p[name + ".bias"];
  };
  const auto linear = [&](const Tensor& x, const std::string& name) {
    return at::matmul(x, p[name + ".weight"].t()) + p[name + ".bias"];
  };

  Tensor x = at::conv2d(images, p["embed.weight"].view({8, test::kTestChannels, 2, 2}), p["embed.bias"], 2)
                 .flatten(2)
                 .transpose(1, 2);
  x = at::cat({p["class_token"].expand({2, 1, 8}), p["registers"].expand({2, 1, 8}), x}, 1);
  for (const std::string block : {"blocks.0", "blocks.1"}) {
    const Tensor qkv =
        linear(norm(x, block + ".norm1"), block + ".attention.qkv").view({2, 14, 3, 2, 4}).permute({2, 0, 3, 1, 4});
    const Tensor weights = at::softmax(at::matmul(qkv[0], qkv[1].mT()) / 2, -1);
    x = x + linear(at::matmul(weights, qkv[2]).transpose(1, 2).flatten(2), block + ".attention.out");
    const Tensor inside = linear(norm(x, block + ".norm2"), block + ".mlp.in");
    x = x + linear(0.5 * inside * (1 + at::erf(inside / std::sqrt(2.0))), block + ".mlp.out");
  }
  const Features features = model->forward(images, test_context(false));
  EXPECT_LT(largest_difference(features.taps.at("pre-norm"), x), 1e-12);
  EXPECT_LT(largest_difference(features.tokens, norm(x, "norm")), 1e-12);
  EXPECT_LT(largest_difference(model->pooled(features), features.tokens.select(1, 0)), 1e-15);
}

TEST(Vit, PoolsTheMeanOfPatchTokensWithoutRegisters) {
  const auto model = small_model({}, {.registers = 3});
  const Features features = model->forward(test_images(2, {8, 10}), test_context(false));
  EXPECT_LT(largest_difference(model->pooled(features), features.tokens.slice(1, 3).mean(1)), 1e-6);
}

TEST(Vit, StartsAsDeitDoes) {
  const auto model = vit({{"dim", 64}, {"depth", 2}, {"heads", 4}, {"patch", 4}, {"registers", 2}}, {3, {16, 16}});
  const auto p = model->named_parameters();
  EXPECT_NEAR(p["blocks.1.mlp.in.weight"].std().item<double>(), 0.02, 0.001);
  EXPECT_NEAR(p["blocks.0.attention.qkv.weight"].mean().item<double>(), 0, 0.001);
  EXPECT_EQ(p["blocks.0.mlp.in.bias"].abs().max().item<double>(), 0);
  EXPECT_EQ(p["norm.weight"].min().item<double>(), 1);
  const double bound = 1 / std::sqrt(48.0);
  EXPECT_LE(p["embed.weight"].abs().max().item<double>(), bound);
  EXPECT_GT(p["embed.weight"].abs().max().item<double>(), 0.95 * bound);
  EXPECT_NEAR(p["registers"].std().item<double>(), 0.02, 0.005);
}

TEST(Vit, CanStartWiderOrNarrower) {
  const Json options = {{"dim", 64}, {"depth", 1}, {"heads", 4}, {"patch", 4}, {"init_std", 0.08}};
  const auto p = vit(options, {1, {8, 8}})->named_parameters();
  EXPECT_NEAR(p["blocks.0.mlp.in.weight"].std().item<double>(), 0.08, 0.004);
  EXPECT_NEAR(p["blocks.0.attention.out.weight"].std().item<double>(), 0.08, 0.006);
}

TEST(Vit, CanDoWithoutBiasesOfQueriesKeysAndValues) {
  const Json options = {{"dim", 16}, {"depth", 2}, {"heads", 2}, {"patch", 4}};
  Json bare = options;
  bare["qkv_bias"] = false;
  const auto with = vit(options, {1, {8, 8}}), without = vit(bare, {1, {8, 8}});
  EXPECT_EQ(count(*with) - count(*without), 2 * 3 * 16);
  EXPECT_FALSE(without->named_parameters().contains("blocks.1.attention.qkv.bias"));
  const Tensor images = RandomStreams(1).normal("test", "images", 0, {2, 1, 8, 8});
  EXPECT_LT(largest_difference(with->forward(images, test_context(false)).tokens,
                               without->forward(images, test_context(false)).tokens),
            1e-6)
      << "biases start at zero";
}

TEST(Vit, DeeperModelsShareTheWeightsOfTheBlocksTheyHaveInCommon) {
  const Json options = {{"dim", 16}, {"depth", 1}, {"heads", 2}, {"patch", 4}};
  Json deeper = options;
  deeper["depth"] = 3;
  const auto one = vit(options, {1, {8, 8}}), three = vit(deeper, {1, {8, 8}});
  const auto common = three->named_parameters();
  for (const auto& entry : one->named_parameters())
    EXPECT_TRUE(at::equal(entry.value(), common[entry.key()])) << entry.key();
}

TEST(Vit, OffersBlockTapsWhenAsked) {
  const auto model = small_model({}, {.depth = 3});
  model->request_tap("block-1");
  model->request_tap("post-norm");
  const Features features = model->forward(test_images(2, {8, 10}), test_context(false));
  EXPECT_TRUE(features.taps.contains("block-1"));
  EXPECT_FALSE(features.taps.contains("block-0"));
  EXPECT_THROW(model->request_tap("block-3"), std::invalid_argument);
  model->request_tap("block-2");
  const Features again = model->forward(test_images(2, {8, 10}), test_context(false));
  EXPECT_TRUE(at::equal(again.taps.at("block-2"), again.taps.at("pre-norm")));
}

TEST(Vit, ExemptsBiasesNormsAndNothingElseFromWeightDecay) {
  const auto model = small_model({}, {.pool = "cls"});
  for (const auto& entry : model->named_parameters()) {
    const bool matrix = entry.key().ends_with("weight") && entry.key().find("norm") == std::string::npos;
    EXPECT_EQ(model->decay(entry.key(), entry.value()) == Decay::kDecayed, matrix || entry.key() == "class_token")
        << entry.key();
  }
}

TEST(Vit, DropPathSkipsBranchesOfSamplesWhileTrainingOnly) {
  const Json options = {{"dim", 16}, {"depth", 2}, {"heads", 2}, {"patch", 4}, {"drop_path", 0.5}};
  const auto model = vit(options, {1, {8, 8}});
  const Tensor images = RandomStreams(1).normal("test", "images", 0, {64, 1, 8, 8});
  const auto tokens = [&](bool training, std::int64_t step) {
    return model->forward(images, test_context(training, step)).taps.at("pre-norm");
  };
  EXPECT_TRUE(at::equal(tokens(false, 1), tokens(false, 2)));
  EXPECT_TRUE(at::equal(tokens(true, 1), tokens(true, 1))) << "a draw is a function of the step";
  EXPECT_FALSE(at::equal(tokens(true, 1), tokens(true, 2)));
  const double changed =
      (tokens(true, 1) - tokens(false, 1)).abs().amax({1, 2}).gt(1e-6).to(at::kDouble).mean().item<double>();
  EXPECT_EQ(changed, 1) << "kept branches are scaled up, dropped ones are gone: every sample differs from evaluation";
}

// What other networks have several of it has one of, under the names it always had.
TEST(Vit, IsOneStageWhoseFeatureMapIsTheStreamBeforeTheNorm) {
  const auto model = small_model({{"violin"}}, {.pool = "cls", .registers = 1});
  ASSERT_EQ(model->stages().size(), 1U);
  EXPECT_FALSE(model->stages()[0].windows);
  EXPECT_TRUE(model->named_parameters().contains("priors.violin.layers.1.alpha"));
  EXPECT_EQ(model->pooled_width(), model->width());
  EXPECT_EQ(model->layouts(8, 10), (std::vector<Layout>{{{4, 5}, 2}}));
  const Features features = model->forward(test_images(1, {8, 10}), test_context(false));
  ASSERT_EQ(features.stages.size(), 1U);
  EXPECT_TRUE(at::equal(features.stages[0].tokens, features.taps.at("pre-norm")));
  EXPECT_EQ(features.stages[0].layout, features.layout);
  EXPECT_EQ(features.tap_layouts.at("post-norm"), features.layout);
}

TEST(Vit, RefusesHiddenPatchesAndConditionsWhichItHasNoUseFor) {
  const auto model = small_model({});
  Inputs inputs(test_images(1, {8, 10}));
  inputs.hidden = at::zeros({1, 20}, at::kBool);
  EXPECT_THROW(model->forward(inputs, test_context(false)), std::invalid_argument);
  inputs.hidden = Tensor();
  inputs.condition.vector = at::zeros({1, 32});
  EXPECT_THROW(model->forward(inputs, test_context(false)), std::invalid_argument);
}

TEST(Vit, SaysWhatItRefuses) {
  EXPECT_NE(refusal({{"dim", 64}, {"heads", 5}, {"patch", 4}}, {1, {8, 8}}).find("heads 5 must divide dim 64"),
            std::string::npos);
  EXPECT_NE(
      refusal({{"dim", 64}, {"heads", 4}, {"patch", 5}}, {1, {28, 28}}).find("patch 5 must divide an image of 28 x 28"),
      std::string::npos);
  EXPECT_NE(refusal({{"width", 64}}, {1, {28, 28}}).find("no option 'width'"), std::string::npos);
  const auto model = small_model({});
  EXPECT_THROW(model->forward(test_images(1, {9, 10}), test_context(false)), std::invalid_argument);
}

// What a block of one head adds while training, over what it adds when it is used: the factors of its samples.
TEST(Vit, DropsPathsLinearlyOrConstantlyOverDepth) {
  const Tensor images = test_images(64, {8, 8});
  const auto dropped_samples = [&](const char* rule, std::int64_t depth) {
    Json options = {{"dim", 8}, {"depth", depth}, {"heads", 2}, {"patch", 4}};
    options["drop_path"] = 0.9;
    options["drop_path_rule"] = rule;
    const auto model = vit(options, {test::kTestChannels, {8, 8}});
    const at::NoGradGuard no_gradient;
    model->request_tap("block-0");
    const Tensor out = model->forward(images, test_context(true)).taps.at("block-0");
    const Tensor used = model->forward(images, test_context(false)).taps.at("block-0");
    return (out - used).abs().flatten(1).amax(1).gt(1e-6).sum().item<std::int64_t>();
  };
  EXPECT_EQ(dropped_samples("linear", 3), 0) << "the first block of several drops nothing";
  EXPECT_GT(dropped_samples("constant", 3), 32);
  EXPECT_GT(dropped_samples("constant", 1), 32);
}

TEST(Vit, ScalesBranchesByLearnedFactorsWhereAskedTo) {
  const Json plain = {{"dim", 8}, {"depth", 2}, {"heads", 2}, {"patch", 4}};
  Json scaled = plain;
  scaled["layer_scale"] = 0.25;
  const InputFacts input{test::kTestChannels, {8, 8}};
  const auto without = vit(plain, input), with = vit(scaled, input);
  EXPECT_EQ(count(*with) - count(*without), 2 * 2 * 8);
  const auto p = with->named_parameters();
  EXPECT_TRUE(at::equal(p["blocks.1.scale2"], at::full({8}, 0.25f)));
  const Tensor images = test_images(2, {8, 8});
  const at::NoGradGuard no_gradient;
  for (const char* name : {"blocks.0.scale1", "blocks.0.scale2", "blocks.1.scale1", "blocks.1.scale2"})
    p[name].fill_(1);
  EXPECT_EQ(largest_difference(with->forward(images, test_context(false)).tokens,
                               without->forward(images, test_context(false)).tokens),
            0)
      << "factors of 1 change nothing, and common weights start equal";
  for (const char* name : {"blocks.0.scale1", "blocks.0.scale2", "blocks.1.scale1", "blocks.1.scale2"}) p[name].zero_();
  with->request_tap("block-0");
  const Features features = with->forward(images, test_context(false));
  EXPECT_TRUE(at::equal(features.taps.at("block-0"), features.taps.at("pre-norm")))
      << "factors of 0 take branches away";
}

TEST(Vit, ThinsBranchesOutWhileTrainingAlone) {
  Json options = {{"dim", 8}, {"depth", 2}, {"heads", 2}, {"patch", 4}, {"dropout", 0.5}};
  const auto model = vit(options, {test::kTestChannels, {8, 8}});
  options.erase("dropout");
  const auto plain = vit(options, {test::kTestChannels, {8, 8}});
  const Tensor images = test_images(3, {8, 8});
  const at::NoGradGuard no_gradient;
  EXPECT_TRUE(at::equal(model->forward(images, test_context(false)).tokens,
                        plain->forward(images, test_context(false)).tokens));
  const Tensor once = model->forward(images, test_context(true)).tokens;
  EXPECT_TRUE(at::equal(once, model->forward(images, test_context(true)).tokens)) << "draws have names";
  EXPECT_GT(largest_difference(once, plain->forward(images, test_context(true)).tokens), 1e-3);
}

TEST(Vit, PoolsItsRegistersWhereAskedTo) {
  const Json options = {{"dim", 8}, {"depth", 1}, {"heads", 2}, {"patch", 4}, {"registers", 3}, {"pool", "registers"}};
  const auto model = vit(options, {test::kTestChannels, {8, 8}});
  const at::NoGradGuard no_gradient;
  const Features features = model->forward(test_images(2, {8, 8}), test_context(false));
  EXPECT_EQ(features.layout.prefix, 3);
  EXPECT_TRUE(at::equal(model->pooled(features), features.tokens.slice(1, 0, 3).mean(1)));
  Json none = options;
  none["registers"] = 0;
  EXPECT_NE(refusal(none, {test::kTestChannels, {8, 8}}).find("pool registers needs registers"), std::string::npos);
}

}  // namespace
}  // namespace locus::engine

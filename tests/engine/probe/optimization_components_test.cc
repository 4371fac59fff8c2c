// Optimizers, schedules, losses, mixes and what else makes steps, run alone as `locus probe --component` does.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/probe/component.h"

namespace locus::engine {
namespace {

NamedTensors run(const char* name, const Json& options, const NamedTensors& given = {}, Json more = Json::object()) {
  more["options"] = options;
  return run_component(component(name), more, given);
}

Tensor numbers(std::vector<double> values) { return at::tensor(values, at::kDouble); }

TEST(Components, OfASchedulesKindGiveAsManyRatesAsAreAskedFor) {
  std::int64_t seen = 0;
  for (const Component& one : all_components()) {
    if (one.item.json().at("kind") != "schedule") continue;
    bool times = false;
    for (const Json& option : one.item.json().at("options")) times = times || option.at("name") == "times";
    const Tensor rates = run_component(one, {{"options", {{times ? "times" : "steps", 17}}}}, {}).at("rates");
    EXPECT_EQ(rates.sizes(), (at::IntArrayRef{17})) << one.name();
    EXPECT_EQ(rates.scalar_type(), at::kDouble);
    EXPECT_TRUE(rates.isfinite().all().item<bool>()) << one.name();
    ++seen;
  }
  EXPECT_GE(seen, 8);
}

TEST(OptimizerComponents, StepOnTheGivenGradients) {
  for (const char* name : {"optimizer:adamw", "optimizer:lamb", "optimizer:lars", "optimizer:sgd"}) {
    const NamedTensors given = {{"parameter.w", at::ones({2, 3}, at::kDouble)},
                                {"parameter.b", at::ones({3}, at::kDouble)},
                                {"gradient.w", RandomStreams(1).normal("t", "w", 0, {4, 2, 3}).to(at::kDouble)},
                                {"gradient.b", RandomStreams(1).normal("t", "b", 0, {4, 3}).to(at::kDouble)}};
    const Json options = {{"lr", 0.1}, {"weight_decay", 0.5}, {"exempt", {"b"}}};
    const NamedTensors found = run(name, options, given);
    EXPECT_EQ(found.at("path.w").sizes(), (at::IntArrayRef{4, 2, 3})) << name;
    EXPECT_TRUE(at::equal(found.at("parameter.w"), found.at("path.w")[3])) << name;
    EXPECT_TRUE(at::equal(given.at("parameter.w"), at::ones({2, 3}, at::kDouble))) << "inputs stay as they are";
    NamedTensors with_rates = given;
    with_rates["rates"] = numbers({0.1, 0.1, 0.1, 0.1});
    EXPECT_TRUE(at::equal(run(name, options, with_rates).at("path.b"), found.at("path.b"))) << name;
    Json all = options;
    all["exempt"] = Json::array();
    EXPECT_TRUE(at::equal(run(name, all, given).at("path.w")[0], found.at("path.w")[0])) << name;
  }
}

TEST(OptimizerComponents, NameTheTensorThatDoesNotFit) {
  const NamedTensors missing = {{"parameter.w", at::ones({2})}, {"gradient.v", at::ones({1, 2})}};
  EXPECT_THROW(run("optimizer:sgd", {}, missing), std::invalid_argument);
  const NamedTensors lengths = {{"parameter.w", at::ones({2})},
                                {"parameter.v", at::ones({2})},
                                {"gradient.w", at::ones({1, 2})},
                                {"gradient.v", at::ones({2, 2})}};
  EXPECT_THROW(run("optimizer:sgd", {}, lengths), std::invalid_argument);
}

TEST(MixingComponents, TakeGivenDrawsAndOtherwiseThoseOfTheSeed) {
  const NamedTensors batch = {{"image", RandomStreams(1).normal("t", "image", 0, {2, 3, 224, 224})},
                              {"label", at::tensor({0, 1}, at::kLong)}};
  NamedTensors given = batch;
  given["draws.mix.kind"] = numbers({0.1});
  given["draws.mix.lambda"] = numbers({0.3});
  given["draws.mix.cut.y"] = numbers({0});
  given["draws.mix.cut.x"] = numbers({0});
  const NamedTensors cut = run("mixing:timm", {{"classes", 2}}, given);
  EXPECT_TRUE(at::equal(cut.at("box")[0], at::tensor({0, 93, 0, 93}, at::kLong)));
  EXPECT_NEAR(cut.at("share")[0].item<double>(), 0.827627, 1e-6);
  EXPECT_NEAR(cut.at("target")[0][0].item<double>(), 0.827627, 1e-6);
  const NamedTensors drawn = run("mixing:timm", {{"classes", 2}}, batch, {{"seed", 7}, {"step", 1}});
  EXPECT_NEAR(drawn.at("share")[0].item<double>(), 0.109061, 1e-6);
  given["draws.mix.lambda"] = at::zeros({0}, at::kDouble);
  EXPECT_THROW(run("mixing:timm", {{"classes", 2}}, given), std::invalid_argument);
}

TEST(GroupComponents, TellDecayAndShareOfTheRateByName) {
  const NamedTensors given = {{"parameter.cls_token", at::zeros({1, 1, 4})},
                              {"parameter.blocks.0.attn.qkv.weight", at::zeros({12, 4})},
                              {"parameter.blocks.1.attn.qkv.bias", at::zeros({12})},
                              {"parameter.head.weight", at::zeros({2, 4})}};
  const NamedTensors found = run("parameter-groups:by-name", {{"layer_decay", 0.5}, {"decay_exempt", "timm"}}, given);
  EXPECT_EQ(found.at("decayed.cls_token").item<std::int64_t>(), 0);
  EXPECT_EQ(found.at("decayed.blocks.0.attn.qkv.weight").item<std::int64_t>(), 1);
  EXPECT_EQ(found.at("decayed.blocks.1.attn.qkv.bias").item<std::int64_t>(), 0);
  EXPECT_EQ(found.at("scale.cls_token").item<double>(), 0.125);
  EXPECT_EQ(found.at("scale.blocks.1.attn.qkv.bias").item<double>(), 0.5);
  EXPECT_EQ(found.at("scale.head.weight").item<double>(), 1);
}

TEST(LossComponents, GiveTheLossAndItsGradient) {
  const NamedTensors given = {{"logits", at::zeros({2, 4}, at::kDouble)}, {"target", at::tensor({1, 3}, at::kLong)}};
  const NamedTensors found = run("loss:cross-entropy", {{"smoothing", 0.1}}, given);
  EXPECT_NEAR(found.at("loss").item<double>(), std::log(4), 1e-12);
  EXPECT_NEAR(found.at("gradient")[0][1].item<double>(), (0.25 - 0.9 - 0.025) / 2, 1e-12);
  EXPECT_NEAR(run("loss:binary-cross-entropy", {}, given).at("loss").item<double>(), std::log(2), 1e-12);
}

TEST(ClippingAverageAndScalerComponents, ChangeWhatTheyAreGiven) {
  const NamedTensors gradients = {{"gradient.a", numbers({3})}, {"gradient.b", numbers({4})}};
  EXPECT_NEAR(run("clipping:joint", {{"limit", 1.0}}, gradients).at("gradient.a").item<double>(), 3 / (5 + 1e-6),
              1e-12);
  const NamedTensors weights = {{"weight.w", numbers({0, 1, 1}).view({3, 1})}};
  const Tensor path = run("average:v2", {{"decay", 0.5}}, weights).at("path.w");
  EXPECT_NEAR(path[1].item<double>(), 0.75, 1e-15);
  EXPECT_NEAR(run("average:v3", {{"decay", 0.5}}, weights).at("path.w")[0].item<double>(), 1, 1e-15);
  const NamedTensors scaled = {{"gradient.w", at::tensor({8.0f, INFINITY, 2.0f}).view({3, 1})}};
  const NamedTensors steps = run("loss-scaler:dynamic", {{"start", 8.0}, {"interval", 1}}, scaled);
  EXPECT_TRUE(at::equal(steps.at("finite"), at::tensor({1, 0, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(steps.at("scale"), numbers({8, 16, 8})));
  EXPECT_EQ(steps.at("next").item<double>(), 16);
  EXPECT_EQ(steps.at("gradient.w")[0].item<float>(), 1);
}

}  // namespace
}  // namespace locus::engine

// Networks of several stages: one instance of a prior in each, options by stage, feature maps, taps, merging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/toys/toys.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Backbone> two_stages(const Json& priors, const Json& options = Json::object(),
                                     std::vector<std::int64_t> extent = {10, 8}) {
  toys::add_toys();
  const auto model = make_backbone({{"model", {{"id", "two-stage"}, {"options", options}}}, {"priors", priors}},
                                   {test::kTestChannels, std::move(extent)}, RandomStreams(3));
  model->to(at::kDouble);
  return model;
}

Features run(Backbone& model, std::vector<std::int64_t> extent = {10, 8}) {
  return model.forward(test::test_images(2, std::move(extent)).to(at::kDouble), test::test_context(true));
}

std::string refusal(const Json& priors, const Json& options = Json::object()) {
  try {
    two_stages(priors, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

Json prior(const char* id, Json stages, Json options = Json::object()) {
  return {{"id", id}, {"options", std::move(options)}, {"stages", std::move(stages)}};
}

TEST(Stages, HaveAnInstanceOfAPriorEachWithLayersNumberedOverTheNetwork) {
  const auto model = two_stages({{{"id", "relative-bias"}}, {{"id", "learned-absolute"}}, {{"id", "guidance"}}});
  const auto parameters = model->named_parameters();
  const auto sizes = [&](const std::string& name) { return parameters["priors." + name].sizes().vec(); };
  EXPECT_EQ(sizes("relative-bias.stages.0.layers.1.table"), (std::vector<std::int64_t>{25, 4})) << "3 x 3 windows";
  EXPECT_EQ(sizes("relative-bias.stages.1.layers.2.table"), (std::vector<std::int64_t>{15, 4})) << "a grid of 3 x 2";
  EXPECT_EQ(sizes("learned-absolute.table"), (std::vector<std::int64_t>{20, 16})) << "the stem's grid and width";
  EXPECT_EQ(sizes("guidance.in_weight"), (std::vector<std::int64_t>{512, 32})) << "the last stage's width";
  EXPECT_TRUE(model->training_only("priors.guidance.in_weight"));
  EXPECT_FALSE(model->training_only("priors.relative-bias.stages.1.layers.2.table"));
  EXPECT_EQ(model->priors(0).size(), 2U);
  EXPECT_EQ(model->priors(1).size(), 2U);
}

TEST(Stages, AreThoseThatTheFactsOfTheBackboneName) {
  const auto model = two_stages(Json::array());
  const Json stages = backbone_item("two-stage").item.json().at("facts").at("stages");
  const Json options = Options(backbone_item("two-stage").item.json(), Json::object()).json();
  ASSERT_EQ(options.at(stages.at("option").get<std::string>()).size(), model->stages().size());
  for (const StageInfo& stage : model->stages()) {
    const auto listed = [&](const char* name) {
      return options.at(stages.at("each").at(name).get<std::string>()).at(static_cast<std::size_t>(stage.index));
    };
    EXPECT_EQ(listed("dim"), stage.width);
    EXPECT_EQ(listed("heads"), stage.layers[0].heads);
  }
}

TEST(Stages, StartTheirInstancesFromDrawsOfTheirOwnAndDecayThemByTheirPriorsRule) {
  const auto model = two_stages({{{"id", "violin"}}});
  const auto parameters = model->named_parameters();
  const Tensor &first = parameters["priors.violin.stages.0.layers.0.alpha"],
               &second = parameters["priors.violin.stages.1.layers.2.alpha"];
  EXPECT_FALSE(at::equal(first, second));
  for (const auto& entry : parameters) {
    const bool violin = entry.key().starts_with("priors.violin.");
    EXPECT_TRUE(!violin || model->decay(entry.key(), entry.value()) == Decay::kExempt) << entry.key();
  }
}

TEST(Stages, LayTheirOptionsOverThoseOfThePrior) {
  const auto model = two_stages(Json::array({prior("lepe", {{{"kernel", 7}}, Json::object()}, {{"kernel", 5}})}));
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters["priors.lepe.stages.0.layers.0.convolution.weight"].size(-1), 7);
  EXPECT_EQ(parameters["priors.lepe.stages.1.layers.2.convolution.weight"].size(-1), 5);
  EXPECT_EQ(model->priors(0)[0].options.at("kernel"), 7);
}

TEST(Stages, MayLeaveAPriorOutAndSetAnotherPattern) {
  const auto model = two_stages(Json::array({prior("spatial-decay", {nullptr, {{"mode", "decomposed"}}})}));
  EXPECT_TRUE(model->priors(0).empty());
  EXPECT_EQ(model->priors(1).size(), 1U);
  EXPECT_LT(model->flops(10, 8), two_stages(Json::array())->flops(10, 8)) << "lines are less than a grid";
  EXPECT_TRUE(run(*model).tokens.isfinite().all().item<bool>());
  // What would exclude it in the first stage may stand there.
  const Json both = {prior("spatial-decay", {nullptr, {{"mode", "decomposed"}}}),
                     prior("relative-bias", {Json::object(), nullptr})};
  EXPECT_EQ(refusal(both), "");
}

TEST(Stages, RefuseWithTheStageWhatOneOfThemHasNoPlaceFor) {
  EXPECT_THAT(refusal({{{"id", "rope-axial"}}}, {{"heads", {4, 16}}}),
              HasSubstr("stage 1: prior rope-axial: head_width 2"));
  EXPECT_THAT(
      refusal(Json::array({prior("spatial-decay", {nullptr, {{"mode", "decomposed"}}}), {{"id", "relative-bias"}}})),
      HasSubstr("stage 1: priors spatial-decay and relative-bias exclude each other"));
  EXPECT_THAT(refusal(Json::array({prior("spatial-decay", {{{"mode", "decomposed"}}, nullptr})})),
              HasSubstr("stage 0: prior spatial-decay"));
  EXPECT_THAT(refusal({{{"id", "none"}}, {{"id", "guidance"}}}), HasSubstr("exclude each other"));
  EXPECT_THAT(
      refusal(Json::array({prior("lepe", {Json::object(), nullptr}), prior("lepe", {nullptr, Json::object()})})),
      HasSubstr("the same prior twice"));
}

TEST(Stages, RefuseOptionsThatFitNone) {
  EXPECT_THAT(refusal(Json::array({prior("lepe", Json::array({Json::object()}))})),
              HasSubstr("one entry for each of the backbone's 2"));
  EXPECT_THAT(refusal(Json::array({prior("lepe", Json::object({{"kernel", 3}}))})), HasSubstr("must be a list"));
  EXPECT_THAT(refusal(Json::array({prior("lepe", {3, 4})})), HasSubstr("options or null"));
  EXPECT_THAT(refusal(Json::array({prior("lepe", {{{"color", 3}}, nullptr})})), HasSubstr("has no option 'color'"));
  EXPECT_THAT(refusal(Json::array({prior("lepe", {nullptr, nullptr})})), HasSubstr("left out of every stage"));
  EXPECT_THAT(refusal(Json::array({prior("learned-absolute", {Json::object(), {{"resize", "timm"}}})})),
              HasSubstr("acts in stage 0 alone"));
}

TEST(Stages, GiveFeatureMapsAndTapsWithTheirLayouts) {
  const auto model = two_stages({{{"id", "alibi-2d"}}});
  for (const char* tap : {"block-1", "block-2"}) model->request_tap(tap);
  EXPECT_THROW(model->request_tap("block-4"), std::invalid_argument);
  const Features features = run(*model);
  ASSERT_EQ(features.stages.size(), 2U);
  EXPECT_EQ(features.stages[0].layout, (Layout{{5, 4}, 0}));
  EXPECT_EQ(features.stages[0].width(), 16);
  EXPECT_EQ(features.stages[1].layout, (Layout{{3, 2}, 0}));
  EXPECT_EQ(features.stages[1].tokens.sizes(), (at::IntArrayRef{2, 6, 32}));
  EXPECT_EQ(features.layout, features.stages[1].layout);
  EXPECT_TRUE(at::equal(features.taps.at("block-1"), features.stages[0].tokens));
  EXPECT_EQ(features.tap_layouts.at("block-1"), features.stages[0].layout);
  EXPECT_EQ(features.tap_layouts.at("block-2"), features.stages[1].layout);
  EXPECT_TRUE(at::equal(features.taps.at("pre-norm"), features.stages[1].tokens));
  for (const auto& [name, tap] : features.taps) EXPECT_EQ(features.tap_layouts.at(name).tokens(), tap.size(1)) << name;
  EXPECT_EQ(model->pooled(features).size(1), model->pooled_width());
}

// Images whose sides make odd grids, and grids below the window.
TEST(Stages, TakeAnyGridWhateverTheWindow) {
  const auto model = two_stages({{{"id", "relative-bias"}}});
  for (const std::vector<std::int64_t>& extent : {std::vector<std::int64_t>{14, 6}, {2, 2}, {2, 18}, {12, 12}}) {
    const Features features = run(*model, extent);
    EXPECT_EQ(features.stages[0].layout, (Layout{{extent[0] / 2, extent[1] / 2}, 0}));
    EXPECT_EQ(features.stages[1].layout, (Layout{{(extent[0] / 2 + 1) / 2, (extent[1] / 2 + 1) / 2}, 0}));
    EXPECT_TRUE(features.tokens.isfinite().all().item<bool>());
  }
}

TEST(Stages, RefuseInputsThatNobodyReads) {
  const auto model = two_stages(Json::array());
  Inputs inputs(test::test_images(1, {10, 8}).to(at::kDouble));
  inputs.hidden = at::zeros({1, 20}, at::kBool);
  EXPECT_THROW(model->forward(inputs, test::test_context(false)), std::invalid_argument);
  inputs.hidden = Tensor();
  inputs.condition.vector = at::zeros({1, 32}, at::kDouble);
  EXPECT_THROW(model->forward(inputs, test::test_context(false)), std::invalid_argument);
  inputs.condition = {};
  EXPECT_NO_THROW(model->forward(inputs, test::test_context(false)));
}

// Cells a b / c d come as a, c, b, d: with an identity for a map and no norm to speak of, sums over a quarter of the
// channels tell which patch is where.
TEST(Merging, ReadsTheRowsOfACellBeforeItsColumns) {
  const auto model = two_stages(Json::array(), {{"dims", {4, 16}}, {"depths", {1, 1}}}, {4, 4});
  const at::NoGradGuard no_grad;
  for (auto& entry : model->named_parameters()) {
    if (entry.key().find("blocks") != std::string::npos) entry.value().zero_();  // each block adds nothing
  }
  const auto parameters = model->named_parameters();
  parameters["stages.1.entry.map.weight"].copy_(at::eye(16, at::kDouble));
  parameters["embed.weight"].zero_().narrow(1, 0, 1).fill_(1);  // every channel: the first pixel of the patch
  parameters["embed.bias"].zero_();
  Tensor image = at::zeros({1, test::kTestChannels, 4, 4}, at::kDouble);
  image[0][0][0][0] = 1, image[0][0][0][2] = 2, image[0][0][2][0] = 3, image[0][0][2][2] = 4;  // a, b, c, d
  const Tensor merged = model->forward(image, test::test_context(false)).stages[1].tokens[0][0].view({4, 4}).mean(1);
  EXPECT_LT(merged[0].item<double>(), merged[2].item<double>()) << "a, then b";
  EXPECT_LT(merged[2].item<double>(), merged[1].item<double>()) << "c stands before b";
  EXPECT_LT(merged[1].item<double>(), merged[3].item<double>()) << "d is last";
}

}  // namespace
}  // namespace locus::engine

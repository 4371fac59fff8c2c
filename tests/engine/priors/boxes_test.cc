// Every prior on boxes (t, y, x): equal to its definition in value and every gradient, or refused with the reason.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/priors/reference/reference_model.h"
#include "tests/engine/priors/reference/tensors.h"
#include "tests/engine/support/clip_model.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::ClipModel;
using test::ClipShape;
using test::PriorSetting;
using ::testing::HasSubstr;

constexpr std::int64_t kVideos = 2, kMixedSettings = 4;

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (const PriorItem& item : prior_items()) all.push_back(item.id());
  return all;
}

bool takes_boxes(const PriorItem& item) {
  const Json& ranks = item.item.json().at("layouts").at("ranks");
  return std::find(ranks.begin(), ranks.end(), 3) != ranks.end();
}

std::vector<PriorSetting> settings(const PriorItem& item) {
  std::vector<PriorSetting> all = test::settings_of(item);
  for (const PriorSetting& mixed : test::mixed_settings(item, kMixedSettings)) all.push_back(mixed);
  return all;
}

// Those that vary one option alone, the squeeze where the default is no choice for boxes, and all that bears on frames.
std::vector<PriorSetting> resized_settings(const PriorItem& item) {
  std::vector<PriorSetting> all = test::settings_of(item);
  for (const PriorSetting& more : {PriorSetting{"sincos-2d", {{"order", "pape"}, {"other_grids", "interpolate"}}},
                                   PriorSetting{"rope-axial", {{"flavor", "pape"}, {"other_grids", "interpolate"}}},
                                   PriorSetting{"rope-mixed", {{"init", "pape"}, {"other_grids", "interpolate"}}},
                                   PriorSetting{"violin", {{"video", "per-frame"}, {"ranks", "scaled"}}},
                                   PriorSetting{"violin",
                                                {{"video", "per-frame"},
                                                 {"cross_frame", "one"},
                                                 {"curve_weights", "learned"},
                                                 {"prefix", "learned"},
                                                 {"ranks", "scaled"}}}}) {
    if (more.id == item.id()) all.push_back(more);
  }
  return all;
}

// A shape with prefix tokens where the setting has a place for them.
ClipShape fitting(const PriorSetting& setting) {
  if (test::axial(setting)) return {.pool = "mean", .depth = 1};
  return {.pool = "cls", .registers = 1, .depth = 1};
}

// The model, or null and why it is refused.
std::shared_ptr<ClipModel> built(const PriorSetting& setting, const ClipShape& shape, std::string* refusal) {
  try {
    return test::clip_model({setting}, shape);
  } catch (const std::invalid_argument& error) {
    *refusal = error.what();
    return nullptr;
  }
}

// Moves every parameter away from where it started, so that nothing is zero, equal or tiny.
void train(Backbone& model) {
  const at::NoGradGuard no_grad;
  for (auto& entry : model.named_parameters()) {
    const Tensor noise = RandomStreams(9).normal("test", entry.key(), 0, entry.value().sizes());
    entry.value().add_(noise.to(entry.value().options()), entry.key().starts_with("priors.") ? 0.4 : 0.15);
  }
}

// Difference relative to the largest entry.
double relative(const Tensor& found, const Tensor& expected) {
  return test::largest_difference(found, expected) / (1e-3 + expected.abs().max().item<double>());
}

test::Values values_of(const Backbone& model) {
  test::Values values;
  for (const auto& entry : model.named_parameters()) values.emplace(entry.key(), test::array_of(entry.value(), true));
  for (const auto& entry : model.named_buffers()) values.emplace(entry.key(), test::array_of(entry.value(), false));
  return values;
}

// Tokens in evaluation, and tokens, losses and gradients in training.
void expect_defined(ClipModel& model, const PriorSetting& setting, const ClipShape& shape, const Tensor& video) {
  const test::ReferenceShape reference{.width = shape.dim,
                                       .heads = shape.heads,
                                       .depth = shape.depth,
                                       .hidden = shape.dim,
                                       .patch = test::kTestTubelet[0],
                                       .registers = shape.registers,
                                       .class_token = shape.pool == "cls",
                                       .image_extent = shape.extent};
  const Json options = Options(prior_item(setting.id).item.json(), setting.options).json();
  for (const bool training : {false, true}) {
    test::Real::clear_tape();
    const test::Values values = values_of(model);
    const ForwardContext context = test::test_context(training);
    const auto expected =
        test::reference_model(reference, {{setting.id, options}}, values, test::array_of(video, false),
                              {.training = training, .step = context.step, .random = context.random});
    const Tensor tokens = test::tensor_of(expected.tokens, &test::Real::value);
    if (!training) {
      const at::NoGradGuard no_grad;
      ASSERT_LT(relative(model.forward(video, context).tokens, tokens), 1e-10) << "tokens in evaluation";
      continue;
    }
    const Tensor weight = RandomStreams(5).normal("test", "weight", 0, tokens.sizes()).to(at::kDouble);
    test::Real loss = expected.losses;
    for (std::int64_t i = 0; i < tokens.numel(); ++i)
      loss += expected.tokens.data()[static_cast<std::size_t>(i)] * weight.const_data_ptr<double>()[i];
    loss.backward();
    for (const auto& [name, gradient] : test::gradients(model, video)) {
      const Tensor wanted = test::tensor_of(values.at(name), &test::Real::gradient);
      const Tensor found = gradient.defined() ? gradient : at::zeros_like(wanted);
      ASSERT_LT(relative(found, wanted), 1e-9) << "gradient of " << name;
    }
  }
}

class EveryPriorOnBoxes : public testing::TestWithParam<std::string> {};

TEST_P(EveryPriorOnBoxes, EqualsItsDefinitionOrIsRefused) {
  const PriorItem& item = prior_item(GetParam());
  int ran = 0;
  for (const PriorSetting& setting : settings(item)) {
    SCOPED_TRACE(setting.options.dump());
    std::string refusal;
    ClipShape shape = {};
    if (takes_boxes(item)) shape = fitting(setting);
    const auto model = built(setting, shape, &refusal);
    if (!takes_boxes(item)) {
      ASSERT_EQ(model, nullptr);
      EXPECT_THAT(refusal, HasSubstr("does not support grids of rank 3"));
      continue;
    }
    if (!model) {
      EXPECT_THAT(refusal, HasSubstr("third_axis 1 where there may be none"));
      continue;
    }
    ++ran;
    model->to(at::kDouble);
    train(*model);
    expect_defined(*model, setting, shape, test::test_videos(kVideos, shape.extent).to(at::kDouble));
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(ran > 0, takes_boxes(item)) << "ranks of the catalog entry";
}

TEST_P(EveryPriorOnBoxes, FollowsToOtherBoxesOrSaysThatItCannot) {
  const PriorItem& item = prior_item(GetParam());
  if (!takes_boxes(item)) return;
  for (const PriorSetting& setting : resized_settings(item)) {
    SCOPED_TRACE(setting.options.dump());
    std::string refusal;
    const ClipShape shape = fitting(setting);
    const auto model = built(setting, shape, &refusal);
    if (!model) continue;
    model->to(at::kDouble);
    train(*model);
    const Tensor video = test::test_videos(kVideos, {6, 2, 4}).to(at::kDouble);
    try {
      model->forward(video, test::test_context(false));
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("take an input of the size the model was built for"));
      continue;
    }
    expect_defined(*model, setting, shape, video);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPriorOnBoxes, testing::ValuesIn(ids()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// What its formula says of distances does not change with an axis of one place.
TEST(Boxes, OfOneFrameAreRectanglesToPriorsOfDistances) {
  const Layout box{{1, 3, 4}, 2}, rectangle{{3, 4}, 2};
  const std::vector<PriorSetting> all = {{"alibi-2d"},
                                         {"manhattan-decay"},
                                         {"violin", {{"apply", "add-logits"}}},
                                         {"violin", {{"apply", "add-logits"}, {"video", "per-frame"}}},
                                         {"violin", {{"apply", "add-logits"}, {"distance", "manhattan"}}},
                                         {"violin", {{"apply", "add-logits"}, {"distance", "z-curve"}}},
                                         {"violin", {{"apply", "add-logits"}, {"distance", "learned-order"}}}};
  for (const PriorSetting& setting : all) {
    const test::Host on_box{.layout = box}, on_rectangle{.layout = rectangle};
    const auto of_box = test::built_prior(setting.id, setting.options, on_box);
    const auto of_rectangle = test::built_prior(setting.id, setting.options, on_rectangle);
    EXPECT_LT(test::largest_difference(test::dense_bias(*of_box, on_box, box),
                                       test::dense_bias(*of_rectangle, on_rectangle, rectangle)),
              1e-12)
        << setting.name();
  }
}

// Pairs of equal offsets have equal biases, wherever they lie.
TEST(Boxes, BiasesOfDistancesDoNotChangeWhenAPairMoves) {
  const Layout box{{3, 4, 5}, 0};
  const auto cell = [](std::int64_t t, std::int64_t y, std::int64_t x) { return (t * 4 + y) * 5 + x; };
  for (const char* id : {"alibi-2d", "manhattan-decay"}) {
    const test::Host host{.layout = box};
    const auto prior = test::built_prior(id, {}, host);
    const Tensor bias = test::dense_bias(*prior, host, box)[0];
    for (std::int64_t h = 0; h < host.heads; ++h) {
      const double here = bias[h][cell(0, 0, 1)][cell(1, 2, 0)].item<double>();
      EXPECT_NEAR(bias[h][cell(1, 1, 4)][cell(2, 3, 3)].item<double>(), here, 1e-9) << id;
      EXPECT_LT(here, 0) << id;
    }
  }
}

TEST(Boxes, OfUcf101GiveThePublishedNumbersOfParameters) {
  const test::Host host{.layout = {{5, 15, 20}, 1}, .heads = 12, .head_width = 64, .depth = 12, .hidden = 4 * 12 * 64};
  const auto count = [&](const char* id, const Json& options) {
    return test::parameter_count(*test::built_prior(id, options, host));
  };
  EXPECT_EQ(count("pape", {{"m", 50}}), 11080800);
  EXPECT_EQ(count("pape-ri", {}), 110592);
  EXPECT_EQ(count("rope-mixed", {{"init", "pape"}}), 13824);
  EXPECT_EQ(count("rope-axial", {{"flavor", "pape"}}), 0);
  EXPECT_EQ(count("violin", {}), 1296) << "as on images";
}

// Heads of 64 channels are padded to 66 and cut: the two slowest pairs of the last axis keep one channel each.
TEST(Boxes, RopeCutsTheSlowestPairsOfTheLastAxisAsPublished) {
  const test::Host host{.layout = {{2, 3, 4}, 0}, .heads = 1, .head_width = 64};
  const auto prior = test::built_prior("rope-axial", {{"flavor", "pape"}}, host);
  test::Content content(host, host.layout);
  const auto [q, k] =
      prior->layers()[0]->transform_qk(content.q, content.k, content.inputs(), test::test_context(false));
  ASSERT_EQ(q.sizes(), content.q.sizes());
  const Tensor raw = content.q[0][0][23], found = q[0][0][23];  // t, y, x = 2, 3, 4 from 1
  const auto frequency = [](std::int64_t index) { return std::pow(10000.0, -6.0 * static_cast<double>(index) / 66); };
  const auto at = [](const Tensor& t, std::int64_t c) { return t[c].item<double>(); };
  for (const auto& [pair, angle] : std::map<std::int64_t, double>{
           {0, 2.0}, {10, 2 * frequency(10)}, {11, 3.0}, {22, 4.0}, {30, 4 * frequency(8)}}) {
    EXPECT_NEAR(at(found, pair), at(raw, pair) * std::cos(angle) - at(raw, pair + 33) * std::sin(angle), 1e-12) << pair;
    EXPECT_NEAR(at(found, pair + 33), at(raw, pair) * std::sin(angle) + at(raw, pair + 33) * std::cos(angle), 1e-12);
  }
  for (const std::int64_t pair : {31, 32})
    EXPECT_NEAR(at(found, pair), at(raw, pair) * std::cos(4 * frequency(pair - 22)), 1e-12) << pair;
}

}  // namespace
}  // namespace locus::engine

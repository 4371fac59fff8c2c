// Every prior equals its definition: a whole model's tokens, losses and every gradient against scalar loops
// in float64 that share no code with the engine, and against finite differences.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/priors/reference/reference_model.h"
#include "tests/engine/priors/reference/tensors.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::ModelShape;
using test::PriorSetting;

constexpr std::int64_t kImages = 2, kMixedSettings = 6;

struct Scene {
  ModelShape shape;                  // the model, built at this resolution
  std::vector<std::int64_t> extent;  // and run at this one
};

// Square, rectangular and single-row grids; 0, 1 and 5 prefix tokens; at the grid of construction and at
// another.
std::vector<Scene> scenes() {
  const auto model = [](std::vector<std::int64_t> extent, const char* pool, std::int64_t registers) {
    return ModelShape{.extent = std::move(extent),
                      .pool = pool,
                      .registers = registers,
                      .dim = 16,
                      .depth = 2,
                      .heads = 4,
                      .mlp_ratio = 1};
  };
  return {{model({6, 8}, "cls", 0), {6, 8}},
          {model({6, 6}, "mean", 0), {8, 4}},
          {model({2, 10}, "cls", 4), {2, 10}},
          {model({4, 6}, "cls", 0), {8, 6}}};
}

// Moves every parameter away from where it started, so that nothing is zero, equal or tiny.
void train(Backbone& model) {
  const at::NoGradGuard no_grad;
  for (auto& entry : model.named_parameters()) {
    const Tensor noise = RandomStreams(9).normal("test", entry.key(), 0, entry.value().sizes());
    entry.value().add_(noise.to(entry.value().options()), entry.key().starts_with("priors.") ? 0.4 : 0.15);
  }
}

test::ReferenceShape reference_shape(const ModelShape& shape) {
  return {.width = shape.dim,
          .heads = shape.heads,
          .depth = shape.depth,
          .hidden = shape.dim,
          .patch = 2,
          .registers = shape.registers,
          .class_token = shape.pool == "cls",
          .image_extent = shape.extent};
}

// Difference relative to the largest entry.
double relative(const Tensor& found, const Tensor& expected) {
  return test::largest_difference(found, expected) / (1e-3 + expected.abs().max().item<double>());
}

void check(const std::vector<PriorSetting>& priors, const Scene& scene) {
  ModelShape shape = scene.shape;
  std::vector<test::ReferenceChoice> choices;
  for (const PriorSetting& prior : priors) {
    shape = test::fitting(prior, shape);
    choices.push_back({prior.id, Options(prior_item(prior.id).item.json(), prior.options).json()});
  }
  const auto model = test::small_model(priors, shape);
  model->to(at::kDouble);
  train(*model);
  const Tensor images = test::test_images(kImages, scene.extent).to(at::kDouble);

  for (const bool training : {false, true}) {
    test::Real::clear_tape();
    test::Values values;
    for (const auto& entry : model->named_parameters())
      values.emplace(entry.key(), test::array_of(entry.value(), true));
    for (const auto& entry : model->named_buffers()) values.emplace(entry.key(), test::array_of(entry.value(), false));
    const ForwardContext context = test::test_context(training);
    const auto expected = test::reference_model(reference_shape(shape), choices, values, test::array_of(images, false),
                                                {.training = training, .step = context.step, .random = context.random});
    const Tensor tokens = test::tensor_of(expected.tokens, &test::Real::value);
    if (!training) {
      const at::NoGradGuard no_grad;
      ASSERT_LT(relative(model->forward(images, context).tokens, tokens), 1e-10) << "tokens in evaluation";
      continue;
    }
    const Tensor weight = RandomStreams(5).normal("test", "weight", 0, tokens.sizes()).to(at::kDouble);
    test::Real loss = expected.losses;
    for (std::int64_t i = 0; i < tokens.numel(); ++i) {
      loss += expected.tokens.data()[static_cast<std::size_t>(i)] * weight.const_data_ptr<double>()[i];
    }
    loss.backward();
    for (const auto& [name, gradient] : test::gradients(*model, images)) {
      const Tensor wanted = test::tensor_of(values.at(name), &test::Real::gradient);
      const Tensor found = gradient.defined() ? gradient : at::zeros_like(wanted);
      ASSERT_LT(relative(found, wanted), 1e-9) << "gradient of " << name;
    }
  }
}

// Some mixtures need more heads than the scenes have; then the model says so.
bool fits_four_heads(const PriorSetting& setting) {
  try {
    test::small_model({setting}, {.depth = 1});
    return true;
  } catch (const std::invalid_argument& refusal) {
    return std::string(refusal.what()).find("4 heads") == std::string::npos;
  }
}

class EveryDefinition : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<PriorSetting> settings() {
    const PriorItem& item = prior_item(GetParam());
    std::vector<PriorSetting> all = test::settings_of(item);
    for (const PriorSetting& mixed : test::mixed_settings(item, kMixedSettings)) {
      if (fits_four_heads(mixed)) all.push_back(mixed);
    }
    return all;
  }
};

TEST_P(EveryDefinition, HoldsInValueAndEveryGradient) {
  for (const PriorSetting& setting : settings()) {
    for (const Scene& scene : scenes()) {
      SCOPED_TRACE(setting.options.dump() + " built at " + Json(scene.shape.extent).dump() + " run at " +
                   Json(scene.extent).dump() + " registers " + std::to_string(scene.shape.registers));
      check({setting}, scene);
      if (HasFatalFailure()) return;
    }
  }
}

// The loss of `gradients`, as a number.
double loss_of(Backbone& model, const Tensor& images) {
  const at::NoGradGuard no_grad;
  const ForwardContext context = test::test_context(true);
  const Features features = model.forward(images, context);
  Tensor loss =
      (features.tokens * RandomStreams(5).normal("test", "weight", 0, features.tokens.sizes()).to(at::kDouble)).sum();
  for (const AuxLoss& aux : model.auxiliary_losses(features, context)) loss = loss + aux.value;
  return loss.item<double>();
}

TEST_P(EveryDefinition, GradientsAgreeWithFiniteDifferences) {
  for (const PriorSetting& setting : settings()) {
    const ModelShape shape = test::fitting(setting, scenes()[0].shape);
    const auto model = test::small_model({setting}, shape);
    model->to(at::kDouble);
    train(*model);
    const Tensor images = test::test_images(kImages, shape.extent).to(at::kDouble);
    const auto gradients = test::gradients(*model, images);
    double slope = 0;
    std::map<std::string, Tensor> direction;
    for (const auto& entry : model->named_parameters()) {
      const Tensor d = RandomStreams(21).normal("test", entry.key(), 0, entry.value().sizes()).to(at::kDouble);
      direction[entry.key()] = d;
      if (gradients.at(entry.key()).defined()) slope += (gradients.at(entry.key()) * d).sum().item<double>();
    }
    const auto moved = [&](double by) {
      const at::NoGradGuard no_grad;
      for (auto& entry : model->named_parameters()) entry.value().add_(direction.at(entry.key()), by);
    };
    // A small step: ReLUs have kinks, and every one between the two points costs a part of the step.
    constexpr double kStep = 1e-6;
    moved(kStep);
    const double above = loss_of(*model, images);
    moved(-2 * kStep);
    const double below = loss_of(*model, images);
    EXPECT_NEAR((above - below) / (2 * kStep), slope, 5e-5 * (1 + std::abs(slope))) << setting.options;
  }
}

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (const PriorItem& item : prior_items()) all.push_back(item.id());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryDefinition, testing::ValuesIn(ids()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// What priors make together is what their hooks make in the order of the list.
TEST(EveryDefinition, HoldsForCombinationsInValueAndEveryGradient) {
  const Json late = {{"prefix", "late"}}, before = {{"bias_order", "before"}};
  const std::vector<std::vector<PriorSetting>> lists = {
      {{"rope-axial"}, {"lepe"}, {"spatial-decay"}},
      {{"irpe", {{"on", "qkv"}}}, {"violin"}},
      {{"irpe", {{"on", "qkv"}}}, {"violin", before}},
      {{"violin", {{"bias_order", "before"}, {"apply", "mul-logits-res"}, {"distance", "learned-order"}}},
       {"alibi-2d"},
       {"relative-bias"}},
      {{"rope-axial"}, {"guidance"}},
      {{"learned-absolute"}, {"violin"}, {"local-ffn"}},
      {{"cpe"}, {"rope-mixed"}, {"gpsa"}, {"alibi-2d"}},
      {{"learned-absolute"}, {"irpe", {{"on", "qkv"}, {"method", "cross"}}}},
      {{"learned-absolute", {{"rows", "with-class"}}}, {"log-cpb", {{"mode", "timm-cr"}}}, {"gpsa", late}},
      {{"rope-axial", {{"flavor", "dinov3"}, {"jitter", 1.5}}},
       {"relative-bias", {{"prefix", "beit"}}},
       {"gpsa", late}},
      {{"violin", {{"prefix", "learned"}}}, {"transformer-xl"}, {"guidance"}, {"gpsa", late}}};
  for (const auto& list : lists) {
    for (const Scene& scene : {scenes()[0], scenes()[2]}) {
      SCOPED_TRACE(list[0].id + " and " + list.back().id + " at " + Json(scene.extent).dump());
      check(list, scene);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace locus::engine

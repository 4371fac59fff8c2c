// Attention within windows equals its definition with every prior that acts in attention: values and every gradient,
// on grids that the windows divide and on others.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/attention/attention.h"
#include "tests/engine/priors/reference/reference_windows.h"
#include "tests/engine/priors/reference/tensors.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

constexpr std::int64_t kImages = 2, kHeads = 4, kWidth = 16;

struct Scene {
  std::vector<std::int64_t> extent, window, shift;
  bool pad_first = true;
};

// Divided and not, square and rectangular, one window and many, shifted along both axes, one or none; both orders of
// padding.
std::vector<Scene> scenes() {
  return {{{4, 4}, {2, 2}, {1, 1}},        {{4, 6}, {2, 3}, {0, 0}}, {{5, 4}, {3, 3}, {1, 1}},
          {{5, 4}, {3, 3}, {1, 2}, false}, {{3, 5}, {2, 2}, {0, 1}}, {{2, 3}, {4, 4}, {2, 2}}};
}

bool in_attention(Hook hook) {
  return hook == Hook::kTransformQk || hook == Hook::kBias || hook == Hook::kScale || hook == Hook::kProbabilities ||
         hook == Hook::kFromProbabilities || hook == Hook::kAddOutput || hook == Hook::kGateOutput;
}

// One attention layer within windows, with priors built for the window; everything moved away from where it starts.
struct Layer {
  Layer(const std::vector<PriorSetting>& settings, const Scene& scene) : layout{scene.extent, 0} {
    const LayerInfo info{.layer = 0,
                         .layers = 1,
                         .width = kWidth,
                         .heads = kHeads,
                         .hidden = kWidth,
                         .scale = 0.5,
                         .reference = {scene.window, 0}};
    std::vector<AttachedPrior> attached;
    for (const PriorSetting& setting : settings) {
      const PriorItem& item = prior_item(setting.id);
      const auto prior = item.make({{info}, kWidth, info.reference}, Options(item.item.json(), setting.options));
      prior->build_layers({info});
      prior->initialize(Initializer(RandomStreams(0), ""));
      prior->to(at::kDouble);
      priors.emplace_back(setting.id, prior);
      std::vector<Hook> hooks = item.hooks();
      std::erase_if(hooks, [&](Hook hook) { return !prior->uses(hook) || !in_attention(hook); });
      if (prior->layers()[0]) attached.push_back({prior->layers()[0], hooks, {}});
    }
    attention =
        std::make_shared<Attention>(info, attached, plain_linear(), "attention",
                                    AttentionOptions{.partition = {scene.window, scene.shift, scene.pad_first}});
    attention->to(at::kDouble);
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters()) {
      const Tensor noise = RandomStreams(9).normal("test", name, 0, parameter.sizes()).to(at::kDouble);
      if (name.starts_with("priors.")) {
        Tensor(parameter).add_(noise, 0.4);
      } else {
        Tensor(parameter).copy_(noise * 0.4);
      }
    }
  }

  std::map<std::string, Tensor> parameters() const {
    std::map<std::string, Tensor> all;
    for (const auto& entry : attention->named_parameters()) all.emplace(entry.key(), entry.value());
    for (const auto& [id, prior] : priors) {
      for (const auto& entry : prior->named_parameters())
        all.emplace("priors." + id + "." + entry.key(), entry.value());
    }
    return all;
  }
  test::Values values() const {
    test::Values all;
    for (const auto& [name, parameter] : parameters()) all.emplace(name, test::array_of(parameter, true));
    for (const auto& [id, prior] : priors) {
      for (const auto& entry : prior->named_buffers())
        all.emplace("priors." + id + "." + entry.key(), test::array_of(entry.value(), false));
    }
    return all;
  }
  Tensor forward(const Tensor& x, const ForwardContext& context) const {
    for (const auto& [id, prior] : priors) prior->begin_forward(layout, context);
    return attention->forward(x, layout, context);
  }

  Layout layout;
  std::vector<std::pair<std::string, std::shared_ptr<Prior>>> priors;
  std::shared_ptr<Attention> attention;
};

double relative(const Tensor& found, const Tensor& expected) {
  return test::largest_difference(found, expected) / (1e-3 + expected.abs().max().item<double>());
}

void check(const std::vector<PriorSetting>& settings, const Scene& scene) {
  const Layer layer(settings, scene);
  std::vector<test::ReferenceChoice> choices;
  for (const PriorSetting& setting : settings)
    choices.push_back({setting.id, Options(prior_item(setting.id).item.json(), setting.options).json()});
  const Tensor x = RandomStreams(4).normal("test", "x", 0, {kImages, layer.layout.tokens(), kWidth}).to(at::kDouble);
  const ForwardContext context = test::test_context(true);

  test::Real::clear_tape();
  const test::Values values = layer.values();
  const test::Array input = test::array_of(x, true);
  const test::ReferenceWindows where{scene.extent, scene.window, scene.shift, scene.pad_first, kHeads};
  const test::Array expected = test::reference_windows(
      where, choices, values, input, {.training = true, .step = context.step, .random = context.random});
  const Tensor given = x.clone().requires_grad_();
  const Tensor found = layer.forward(given, context);
  ASSERT_LT(relative(found, test::tensor_of(expected, &test::Real::value)), 1e-10);

  const Tensor weight = RandomStreams(5).normal("test", "weight", 0, found.sizes()).to(at::kDouble);
  test::Real sum = 0.0;
  for (std::int64_t i = 0; i < weight.numel(); ++i)
    sum += expected.data()[static_cast<std::size_t>(i)] * weight.const_data_ptr<double>()[i];
  sum.backward();
  (found * weight).sum().backward();
  ASSERT_LT(relative(given.grad(), test::tensor_of(input, &test::Real::gradient)), 1e-9) << "gradient of the tokens";
  for (const auto& [name, parameter] : layer.parameters()) {
    const Tensor wanted = test::tensor_of(values.at(name), &test::Real::gradient);
    ASSERT_LT(relative(parameter.grad().defined() ? parameter.grad() : at::zeros_like(wanted), wanted), 1e-9)
        << "gradient of " << name;
  }
}

std::vector<PriorSetting> settings_in_windows(const PriorItem& item) {
  std::vector<PriorSetting> all = test::settings_of(item);
  std::erase_if(all, [](const PriorSetting& setting) { return test::axial(setting); });
  return all;
}

class EveryPriorInWindows : public testing::TestWithParam<std::string> {};

TEST_P(EveryPriorInWindows, EqualsTheDefinitionInValueAndEveryGradient) {
  for (const PriorSetting& setting : settings_in_windows(prior_item(GetParam()))) {
    for (const Scene& scene : scenes()) {
      SCOPED_TRACE(setting.name() + " on " + Json(scene.extent).dump() + " windows " + Json(scene.window).dump() +
                   " shifted by " + Json(scene.shift).dump());
      check({setting}, scene);
      if (HasFatalFailure()) return;
    }
  }
}

std::vector<std::string> in_attention_ids() {
  std::vector<std::string> ids;
  for (const PriorItem& item : prior_items()) {
    const std::vector<Hook> hooks = item.hooks();
    if (std::any_of(hooks.begin(), hooks.end(), in_attention)) ids.push_back(item.id());
  }
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPriorInWindows, testing::ValuesIn(in_attention_ids()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A scale of the sum multiplies the biases, never what hides: with alpha below 0 the hidden pairs would be the only
// ones seen.
TEST(Windows, AreNotUncoveredByAScaleOfTheWholeSum) {
  const Json before = {{"bias_order", "before"}};
  for (const Scene& scene : scenes()) check({{"relative-bias"}, {"violin", before}}, scene);
  const Layer layer({{"relative-bias"}, {"violin", before}}, scenes()[0]);
  const at::NoGradGuard no_grad;
  layer.parameters().at("priors.violin.layers.0.alpha").fill_(-2);
  Tensor x = RandomStreams(4).normal("test", "x", 0, {1, 16, kWidth}).to(at::kDouble);
  const Tensor before_change = layer.forward(x, test::test_context(false))[0][15];  // alone in its region
  x.slice(1, 0, 15).mul_(3);
  EXPECT_LT(test::largest_difference(layer.forward(x, test::test_context(false))[0][15], before_change), 1e-12);
}

TEST(Windows, CombinePriorsAsTheAlgebraSays) {
  const std::vector<std::vector<PriorSetting>> lists = {{{"rope-axial"}, {"lepe"}, {"spatial-decay"}},
                                                        {{"irpe", {{"on", "qkv"}}}, {"violin"}},
                                                        {{"rope-mixed"}, {"alibi-2d"}, {"log-cpb"}, {"pape"}}};
  for (const auto& list : lists) {
    for (const Scene& scene : scenes()) {
      SCOPED_TRACE(list[0].id + " on " + Json(scene.extent).dump());
      check(list, scene);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace locus::engine

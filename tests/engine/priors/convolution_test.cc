// Convolutions over the grid: CPE, LePE and LocalViT's feed-forward.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "engine/layers/grid_convolution.h"
#include "tests/engine/priors/built_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

Tensor tokens(Backbone& model, const Tensor& images) {
  const at::NoGradGuard no_grad;
  return model.forward(images, test::test_context(false)).tokens;
}

TEST(GridConvolution, IsAddedToTokensThroughAGateInValueAndGradient) {
  const Layout layout{{4, 5}, 2};
  GridConvolution convolution(6, 3);
  const Tensor x = at::randn({2, layout.tokens(), 6}, at::kDouble).requires_grad_(),
               weight = at::randn({6, 1, 3, 3}, at::kDouble).requires_grad_(),
               bias = at::randn({6}, at::kDouble).requires_grad_(), by = at::randn(x.sizes(), at::kDouble);
  convolution.weight = weight, convolution.bias = bias;
  for (const bool gated : {true, false}) {
    const Tensor gate = gated ? at::full({1}, -0.7, at::kDouble).requires_grad_() : Tensor();
    std::vector<Tensor> inputs = {x, weight, bias};
    if (gated) inputs.push_back(gate);
    const auto results = [&](const Tensor& y) {
      auto all = torch::autograd::grad({(y * by).sum()}, inputs);
      all.push_back(y.detach());
      return all;
    };
    const Tensor branch = convolution.forward(x, layout);
    const auto expected = results(x + (gated ? gate * branch : branch)),
               found = results(convolution.add_to(x, layout, gate));
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LT(largest_difference(found[i], expected[i]), 1e-12) << i;
  }
}

TEST(Cpe, CountsNineWeightsAndABiasAChannelInOnePlaceOrInEveryBlock) {
  const test::Host host{.layout = {{4, 4}, 1}, .heads = 3, .head_width = 64, .depth = 12};
  EXPECT_EQ(test::parameter_count(*test::built_prior("cpe", {}, host)), 10 * 192);
  EXPECT_EQ(test::parameter_count(*test::built_prior("cpe", {{"place", "every-block"}}, host)), 12 * 10 * 192);
}

TEST(Cpe, PassesPrefixTokensUnchangedAndActsAtItsSiteOnly) {
  const test::Host host{.layout = {{3, 4}, 2}};
  const Tensor x = at::randn({2, 14, 16}, at::kDouble);
  for (const bool every : {false, true}) {
    const auto prior = test::built_prior("cpe", {{"place", every ? "every-block" : "after-first"}}, host);
    const Site own = every ? Site::kBlockStart : Site::kBlockEnd, other = every ? Site::kBlockEnd : Site::kBlockStart;
    EXPECT_TRUE(at::equal(prior->layers()[0]->embed(other, x, host.layout, test::test_context(false)), x));
    const Tensor out = prior->layers()[0]->embed(own, x, host.layout, test::test_context(false));
    EXPECT_TRUE(at::equal(out.slice(1, 0, 2), x.slice(1, 0, 2)));
    EXPECT_GT((out - x).slice(1, 2).abs().min().item<double>(), 0);
  }
}

TEST(Cpe, FanOutInitHasTheStatedDeviationAndNoBias) {
  const test::Host host{.layout = {{2, 2}, 0}, .heads = 8, .head_width = 64};
  const auto prior = test::built_prior("cpe", {{"init", "fan-out"}}, host);
  const auto p = prior->named_parameters();
  EXPECT_NEAR(p["layers.0.convolution.weight"].std().item<double>(), std::sqrt(2.0 / 9), 0.02);
  EXPECT_EQ(p["layers.0.convolution.bias"].abs().max().item<double>(), 0);
}

TEST(Lepe, AddsAConvolutionOfTheValuesToPatchesOnly) {
  const test::Host host{.layout = {{4, 3}, 1}};
  const auto prior = test::built_prior("lepe", {}, host);
  EXPECT_EQ(test::parameter_count(*prior), 26 * 16);
  auto p = prior->named_parameters();
  p["layers.0.convolution.weight"].detach().zero_().select(2, 2).select(2, 3).fill_(1);  // the right neighbor
  p["layers.0.convolution.bias"].detach().zero_();
  const test::Content content(host, host.layout, 2);
  const Tensor out = prior->layers()[0]->add_output(content.inputs(), test::test_context(false));
  EXPECT_EQ(out.slice(1, 0, 1).abs().max().item<double>(), 0);
  // Patch (2, 1), head 3, channel 2: what its right neighbor (2, 2) has there.
  EXPECT_EQ(out[1][1 + 2 * 3 + 1][3 * 4 + 2].item<double>(), content.v[1][3][1 + 2 * 3 + 2][2].item<double>());
  EXPECT_EQ(out[0][1 + 2][5].item<double>(), 0) << "nothing lies right of the last column";
}

TEST(Lepe, RefusesEvenKernels) {
  EXPECT_THROW(test::built_prior("lepe", {{"kernel", 4}}, {.layout = {{2, 2}, 0}}), std::invalid_argument);
}

TEST(LocalFfn, StartsAsThePlainModel) {
  const auto without = test::small_model({}, {.pool = "cls"}, 3);
  const Tensor images = test::test_images(2, {8, 10});
  for (const bool bias : {false, true}) {
    const auto with = test::small_model({{"local-ffn", {{"bias", bias}}}}, {.pool = "cls"}, 3);
    // The plain model's MLP is computed in one pass, which rounds otherwise.
    EXPECT_TRUE(at::allclose(tokens(*with, images), tokens(*without, images), 1e-5, 1e-5)) << bias;
  }
}

TEST(LocalFfn, GatedKernelStartsAtTheIdentity) {
  const auto model = test::small_model({{"local-ffn"}}, {.pool = "cls"});
  const Tensor images = test::test_images(2, {8, 10});
  const Tensor before = tokens(*model, images);
  {
    const at::NoGradGuard no_grad;
    for (auto& entry : model->named_parameters()) {
      if (entry.key().ends_with(".gate")) entry.value().fill_(1);
      if (entry.key().ends_with("mlp.out.weight")) entry.value().mul_(0.5);
    }
  }
  // Hidden units of patches doubled, then halved by fc2; the class token's are not doubled.
  const Tensor after = tokens(*model, images);
  EXPECT_GT(largest_difference(after, before), 1e-4) << "the class token bypasses the convolution";
  const auto bare = test::small_model({{"local-ffn"}});
  const Tensor plain = tokens(*bare, images);
  {
    const at::NoGradGuard no_grad;
    for (auto& entry : bare->named_parameters()) {
      if (entry.key().ends_with(".gate")) entry.value().fill_(1);
      if (entry.key().ends_with("mlp.out.weight")) entry.value().mul_(0.5);
    }
  }
  EXPECT_LT(largest_difference(tokens(*bare, images), plain), 1e-5);
}

TEST(LocalFfn, CountsOneKernelAHiddenUnitAndAGate) {
  const test::Host deit_b{.layout = {{14, 14}, 1}, .heads = 12, .head_width = 64, .depth = 12, .hidden = 3072};
  EXPECT_EQ(test::parameter_count(*test::built_prior("local-ffn", {}, deit_b)), 12 * (9 * 3072 + 1));
  EXPECT_EQ(test::parameter_count(*test::built_prior("local-ffn", {{"bias", true}}, deit_b)), 12 * (10 * 3072 + 1));
}

TEST(LocalFfn, OriginalTakesThePlaceOfTheBlocksNormAndMlp) {
  const auto model = test::small_model({{"local-ffn", {{"mode", "original"}}}});
  for (const auto& entry : model->named_parameters()) {
    EXPECT_EQ(entry.key().find("mlp"), std::string::npos) << entry.key();
    EXPECT_EQ(entry.key().find("norm2"), std::string::npos) << entry.key();
  }
}

// LocalViT-T: D 192, four hidden units for each, ratio 4 or 192 hidden over squeezed units.
TEST(LocalFfn, OriginalCountsThePublishedParts) {
  const test::Host tiny{.layout = {{14, 14}, 1}, .heads = 4, .head_width = 48, .depth = 1, .hidden = 768};
  const auto count = [&](const Json& more) {
    Json options = {{"mode", "original"}};
    if (!more.is_null()) options.update(more);
    return test::parameter_count(*test::built_prior("local-ffn", options, tiny));
  };
  const std::int64_t convolutions = 2 * 192 * 768 + 9 * 768, norms = 2 * (768 + 768 + 192);
  EXPECT_EQ(count({{"act", "relu6"}}), convolutions + norms);
  EXPECT_EQ(count({}), convolutions + norms + 2 * 768 * 192 + 192 + 768);
  EXPECT_EQ(count({{"reduction", 192}}), convolutions + norms + 2 * 768 * 4 + 4 + 768);
  EXPECT_EQ(count({{"act", "hs-eca"}}), convolutions + norms + 5);  // t = int((log2 768 + 1) / 2) = 5
  EXPECT_EQ(count({{"act", "hs"}, {"depthwise", false}}), 2 * 192 * 768 + 2 * (768 + 192));
}

TEST(LocalFfn, OriginalKeepsRunningStatisticsForEvaluation) {
  const auto model = test::small_model({{"local-ffn", {{"mode", "original"}}}});
  const Tensor images = test::test_images(4, {8, 10});
  const Tensor before = tokens(*model, images);
  EXPECT_TRUE(at::equal(tokens(*model, images), before)) << "evaluation moves nothing";
  model->forward(images, test::test_context(true));
  EXPECT_GT(largest_difference(tokens(*model, images), before), 1e-3);
}

}  // namespace
}  // namespace locus::engine

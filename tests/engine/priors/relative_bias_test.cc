// Learned relative position biases, by table and by MLP: rows, counts, other grids.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

TEST(RelativeBias, AddsThePublishedNumberOfParameters) {
  const test::Host deit_b{.layout = {{14, 14}, 1}, .heads = 12, .head_width = 64, .depth = 12};
  EXPECT_EQ(test::parameter_count(*test::built_prior("relative-bias", {}, deit_b)), 104976);
  const test::Host one{.layout = {{14, 14}, 1}, .heads = 12, .head_width = 64};
  EXPECT_EQ(test::parameter_count(*test::built_prior("relative-bias", {{"prefix", "beit"}}, one)), (27 * 27 + 3) * 12);
}

TEST(RelativeBias, ReadsQueryMinusKeyAndLeavesPrefixTokensAlone) {
  const test::Host host{.layout = {{2, 3}, 1}};
  const auto prior = test::built_prior("relative-bias", {}, host);
  const Tensor table = prior->parameters()[0].detach(), bias = test::dense_bias(*prior, host, host.layout)[0];
  EXPECT_EQ(bias.slice(1, 0, 1).abs().max().item<double>() + bias.slice(2, 0, 1).abs().max().item<double>(), 0);
  // From (0, 2) to (1, 0): dy = -1, dx = 2; row (-1 + 1) * 5 + 2 + 2.
  EXPECT_EQ(bias[3][1 + 2][1 + 3].item<double>(), table[4][3].item<double>());
  EXPECT_EQ(bias[0][1][1].item<double>(), table[1 * 5 + 2][0].item<double>());
}

TEST(RelativeBias, BeitGivesPrefixPairsThreeNumbersOfTheirOwn) {
  const test::Host host{.layout = {{2, 2}, 1}};
  const auto prior = test::built_prior("relative-bias", {{"prefix", "beit"}}, host);
  const Tensor table = prior->parameters()[0].detach(), bias = test::dense_bias(*prior, host, host.layout)[0];
  EXPECT_EQ(bias[2][0][3].item<double>(), table[9][2].item<double>());   // class to patch
  EXPECT_EQ(bias[2][3][0].item<double>(), table[10][2].item<double>());  // patch to class
  EXPECT_EQ(bias[2][0][0].item<double>(), table[11][2].item<double>());
}

TEST(RelativeBias, ZeroInitKeepsTheFunctionOfTheModel) {
  const auto with = test::small_model({{"relative-bias", {{"init", "zero"}}}}, {}, 3),
             without = test::small_model({}, {}, 3);
  const Tensor images = test::test_images(2, {8, 10});
  EXPECT_LT(largest_difference(with->forward(images, test::test_context(false)).tokens,
                               without->forward(images, test::test_context(false)).tokens),
            1e-6);
}

// Both resizes are interpolations: what is constant stays, what is linear stays linear away from the border.
TEST(RelativeBias, BothResizesInterpolate) {
  const test::Host host{.layout = {{7, 5}, 0}};
  const Layout large{{13, 6}, 0};
  for (const char* resize : {"bicubic", "geometric"}) {
    const auto prior = test::built_prior("relative-bias", {{"resize", resize}}, host);
    Tensor table = prior->parameters()[0].detach();
    table.fill_(1.5);
    EXPECT_NEAR((test::dense_bias(*prior, host, large) - 1.5).abs().max().item<double>(), 0, 1e-12) << resize;
    table.copy_(at::arange(-6, 7, at::kDouble).repeat_interleave(9).unsqueeze(1).expand_as(table));
    const Tensor bias = test::dense_bias(*prior, host, large)[0][0];
    EXPECT_NEAR(bias[0][0].item<double>(), 0, 1e-9) << resize;
    EXPECT_NEAR(bias[6 * 12][0].item<double>() + bias[0][6 * 12].item<double>(), 0, 1e-9) << resize;
    EXPECT_GT(bias[6 * 3][0].item<double>(), bias[6 * 2][0].item<double>()) << resize;
  }
}

// In geometric progression the outermost old offset lies at the outermost new one.
TEST(RelativeBias, GeometricResizeKeepsTheEnds) {
  const test::Host host{.layout = {{4, 4}, 0}};
  const auto prior = test::built_prior("relative-bias", {{"resize", "geometric"}}, host);
  const Tensor table = prior->parameters()[0].detach();
  const Tensor bias = test::dense_bias(*prior, host, {{5, 5}, 0})[0];
  EXPECT_NEAR(bias[1][24][0].item<double>(), table[48][1].item<double>(), 1e-6);
  EXPECT_NEAR(bias[1][0][24].item<double>(), table[0][1].item<double>(), 1e-6);
}

TEST(RelativeBias, DecaysByDefaultAndCanBeExempt) {
  const test::Host host{.layout = {{2, 2}, 0}};
  const auto decay = [&](const Json& options) {
    const auto prior = test::built_prior("relative-bias", options, host);
    return prior->decay("layers.0.table", prior->parameters()[0]);
  };
  EXPECT_EQ(decay({}), Decay::kDecayed);
  EXPECT_EQ(decay({{"decay", false}}), Decay::kExempt);
}

TEST(LogCpb, AddsThePublishedNumbersOfParameters) {
  const auto count = [](const char* mode, std::int64_t heads, std::int64_t depth) {
    const test::Host host{.layout = {{14, 14}, 5}, .heads = heads, .depth = depth};
    return test::parameter_count(*test::built_prior("log-cpb", {{"mode", mode}}, host));
  };
  EXPECT_EQ(count("timm-cr", 6, 12), 1158);  // one module, however many layers
  EXPECT_EQ(count("timm-cr", 12, 12), 1932);
  EXPECT_EQ(count("swinv2", 12, 1), 1536 + 512 * 12);
  EXPECT_EQ(count("swinv2", 12, 12), 12 * (1536 + 512 * 12));
}

// One hidden unit that passes u_y on, so that the bias shows it.
TEST(LogCpb, SwinV2SpacesOffsetsInEighthsOfTheReferenceGrid) {
  const test::Host host{.layout = {{5, 3}, 0}};
  const auto prior = test::built_prior("log-cpb", {{"hidden", 1}}, host);
  auto p = prior->named_parameters();
  p["layers.0.mlp.in_weight"].detach().copy_(at::tensor({1.0, 0.0}).view({1, 2}));
  p["layers.0.mlp.in_bias"].detach().zero_();
  p["layers.0.mlp.out_weight"].detach().fill_(1);
  const auto bias = [&](const Layout& layout, std::int64_t i) {
    return test::dense_bias(*prior, host, layout)[0][0][i][0].item<double>();
  };
  const auto expected = [](double u) { return 16 / (1 + std::exp(-u)); };
  EXPECT_NEAR(bias(host.layout, 4 * 3), expected(std::log2(9.0) / 3), 1e-5);  // 1.05664, the end of the range
  EXPECT_NEAR(std::log2(9.0) / 3, 1.05664, 1e-5);
  EXPECT_NEAR(bias({{9, 3}, 0}, 8 * 3), expected(std::log2(17.0) / 3), 1e-5) << "beyond the reference grid";
  EXPECT_NEAR(bias(host.layout, 0), 8, 1e-5);
}

TEST(LogCpb, TimmDropsHiddenUnitsOnceForAllLayersWhileTraining) {
  const test::Host host{.layout = {{3, 3}, 1}, .depth = 2};
  const auto prior = test::built_prior("log-cpb", {{"mode", "timm-cr"}}, host);
  prior->parameters()[0].detach().normal_(0, 1);
  const test::Content content(host, host.layout);
  const auto bias = [&](std::int64_t layer, const ForwardContext& context) {
    return prior->layers()[static_cast<std::size_t>(layer)]->bias(content.inputs(), context).dense().detach().clone();
  };
  prior->begin_forward(host.layout, test::test_context(true, 1));
  const Tensor one = bias(0, test::test_context(true, 1)), other = bias(1, test::test_context(true, 1));
  EXPECT_TRUE(at::equal(one, other));
  prior->begin_forward(host.layout, test::test_context(true, 2));
  EXPECT_FALSE(at::equal(one, bias(0, test::test_context(true, 2))));
  prior->begin_forward(host.layout, test::test_context(false));
  const Tensor kept = bias(0, test::test_context(false));
  prior->begin_forward(host.layout, test::test_context(false, 7));
  EXPECT_TRUE(at::equal(kept, bias(0, test::test_context(false, 7))));
}

TEST(LogCpb, SwinV2IsExemptFromWeightDecayAndTimmsWeightsAreNot) {
  const test::Host host{.layout = {{2, 2}, 0}};
  for (const char* mode : {"swinv2", "timm-cr"}) {
    const auto prior = test::built_prior("log-cpb", {{"mode", mode}}, host);
    for (const auto& entry : prior->named_parameters()) {
      const bool weight = entry.key().ends_with("weight");
      EXPECT_EQ(prior->decay(entry.key(), entry.value()),
                weight && mode == std::string("timm-cr") ? Decay::kDecayed : Decay::kExempt)
          << mode << " " << entry.key();
    }
  }
}

}  // namespace
}  // namespace locus::engine

// ALiBi on a grid: slopes, distances, prefix tokens.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

// The bias one layer of the prior gives, dense.
Tensor bias_of(const Json& options, std::int64_t heads, const Layout& layout) {
  const PriorItem& item = prior_item("alibi-2d");
  const LayerInfo info{.layer = 0, .layers = 1, .width = heads * 4, .heads = heads, .scale = 0.5, .reference = layout};
  const auto layer = item.make({{info}, info.width, layout}, Options(item.item.json(), options))->layer(info);
  const Tensor x = at::zeros({1, layout.tokens(), info.width}), q = at::zeros({1, heads, layout.tokens(), 4});
  return layer->bias({x, q, q, q, layout}, test::test_context(false)).dense();
}

std::vector<double> slopes(std::int64_t heads) {
  const Tensor bias = bias_of({}, heads, {{1, 2}, 0});
  std::vector<double> out;
  for (std::int64_t h = 0; h < heads; ++h) out.push_back(-bias[0][h][0][1].item<double>());
  return out;
}

TEST(Alibi, SlopesAreThoseOfThePaperForAnyNumberOfHeads) {
  const auto near = [](const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 5e-7) << "head " << i << " of " << found.size();
  };
  near(slopes(3), {.0625, .00390625, .25});
  near(slopes(4), {.25, .0625, .015625, .00390625});
  near(slopes(6), {.25, .0625, .015625, .00390625, .5, .125});
  near(slopes(8), {.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625});
  near(slopes(12), {.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625, .707107, .353553, .176777, .088388});
  const auto sixteen = slopes(16);
  for (std::size_t k = 0; k < 16; ++k)
    EXPECT_NEAR(sixteen[k], std::sqrt(0.5) * std::exp2(-0.5 * static_cast<double>(k)), 1e-6);
}

TEST(Alibi, FallsWithTheEuclideanDistanceOnAnyGrid) {
  const Tensor bias = bias_of({}, 4, {{3, 5}, 0});
  ASSERT_EQ(bias.sizes(), (at::IntArrayRef{1, 4, 15, 15}));
  EXPECT_NEAR(bias[0][0][0][14].item<double>(), -0.25 * std::sqrt(4.0 + 16.0), 1e-6);
  EXPECT_NEAR(bias[0][1][7][3].item<double>(), -0.0625 * std::sqrt(1.0 + 1.0), 1e-6);
  EXPECT_EQ(bias[0][2][6][6].item<double>(), 0);
}

TEST(Alibi, LeavesPrefixTokensAloneByDefault) {
  const Tensor bias = bias_of({}, 4, {{2, 3}, 5});
  EXPECT_EQ(bias.slice(2, 0, 5).abs().max().item<double>(), 0);
  EXPECT_EQ(bias.slice(3, 0, 5).abs().max().item<double>(), 0);
  EXPECT_TRUE(at::equal(bias.slice(2, 5).slice(3, 5), bias_of({}, 4, {{2, 3}, 0})));
}

TEST(Alibi, CanPutPrefixTokensAtTheCornerAsPapeDoes) {
  const Tensor bias = bias_of({{"prefix", "origin"}}, 4, {{2, 3}, 1});
  EXPECT_NEAR(bias[0][0][0][1].item<double>(), -0.25 * std::sqrt(2.0), 1e-6);   // (0, 0) to (1, 1)
  EXPECT_NEAR(bias[0][0][6][0].item<double>(), -0.25 * std::sqrt(13.0), 1e-6);  // (2, 3)
  EXPECT_NEAR(bias[0][0][1][2].item<double>(), -0.25, 1e-6);
}

TEST(Alibi, CanSqueezeALargerGridIntoTheTrainedRange) {
  const test::Host host{.layout = {{4, 4}, 1}, .heads = 4};
  for (const char* prefix : {"zero", "origin"}) {
    const auto prior = test::built_prior("alibi-2d", {{"other_grids", "interpolate"}, {"prefix", prefix}}, host);
    const Tensor small = test::dense_bias(*prior, host, {{4, 4}, 1})[0],
                 large = test::dense_bias(*prior, host, {{8, 8}, 1})[0];
    EXPECT_NEAR(large[0][1][1 + 2 * 8 + 2].item<double>(), small[0][1][1 + 4 + 1].item<double>(), 1e-12) << prefix;
  }
}

TEST(Alibi, AddsNoParameter) {
  EXPECT_EQ(test::small_model({{"alibi-2d"}})->parameters().size(), test::small_model({{"none"}})->parameters().size());
}

}  // namespace
}  // namespace locus::engine

// Lookups by offset and bucket, and attention by position: iRPE, Transformer-XL, GPSA; Violin's further
// counts.
#include <gtest/gtest.h>

#include "tests/engine/priors/one_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::draw;
using test::largest_difference;
using test::one_prior;

const Layout kTablesGrid{{14, 14}, 1};

// Bias mode with the table 0, 1, 2, ...: the buckets themselves.
Tensor buckets(const Json& options, const Layout& layout) {
  Json all = options;
  all["content"] = "bias";
  const auto one = one_prior("irpe", all, 1, 4, layout);
  const at::NoGradGuard no_grad;
  for (auto& entry : one.prior->named_parameters()) {
    const double start = entry.key().ends_with("columns") ? 1000.0 : 0.0;
    entry.value().copy_(at::arange(entry.value().size(1), at::kDouble).unsqueeze(0) * (start > 0 ? start : 1.0));
  }
  return one.bias(layout).dense()[0][0];
}

TEST(Irpe, PutsOffsetsIntoThePiecewiseBucketsOfThePaper) {
  const Layout line{{1, 16}, 0};
  const Tensor found = buckets({}, line);
  const std::vector<int> expected = {-3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -2, -2, -1, 0,
                                     1,  2,  2,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3};
  for (int v = -15; v <= 15; ++v) {
    const int i = v > 0 ? v : 0, j = v > 0 ? 0 : -v;  // query minus key
    EXPECT_EQ(found[i][j].item<double>(), 3 * 7 + expected[static_cast<std::size_t>(v + 15)] + 3) << v;
  }
}

TEST(Irpe, UsesAsManyBucketsAsThePublishedCode) {
  const auto used = [](const Json& options) { return std::get<0>(at::_unique(buckets(options, kTablesGrid))).numel(); };
  EXPECT_EQ(used({{"method", "euclid"}}), 20);
  EXPECT_EQ(used({{"method", "quant"}}), 51);
  EXPECT_EQ(used({}), 50);
}

TEST(Irpe, HasTheParametersOfThePublishedCode) {
  const auto count = [](const Json& options, std::int64_t heads) {
    return one_prior("irpe", options, heads, 64, kTablesGrid, 12).parameters();
  };
  EXPECT_EQ(count({}, 12), 38400);
  EXPECT_EQ(count({{"on", "qkv"}}, 12), 115200);
  EXPECT_EQ(count({{"method", "euclid"}}, 6), 62976);
  EXPECT_EQ(count({{"method", "quant"}}, 6), 102912);
  EXPECT_EQ(count({{"method", "cross"}}, 6), 125952);
  EXPECT_EQ(one_prior("irpe", {}, 12, 64, {{14, 14}, 0}, 12).parameters(), 12 * 64 * 49) << "no prefix bucket";
}

TEST(Irpe, StartsAsTheModelWithoutIt) {
  const auto with = test::small_model({{"irpe", {{"on", "qkv"}}}}), without = test::small_model({});
  const Tensor images = test::test_images(2, {8, 10});
  EXPECT_LT(largest_difference(with->forward(images, test::test_context(false)).tokens,
                               without->forward(images, test::test_context(false)).tokens),
            1e-6);
}

TEST(Irpe, RefusesPlainNumbersForValues) {
  for (const char* on : {"v", "qkv"})
    EXPECT_THROW(one_prior("irpe", {{"on", on}, {"content", "bias"}}, 2, 4, kTablesGrid), std::invalid_argument) << on;
}

// Sines of a difference are products: the separable form of section 3.11, without prefix tokens.
TEST(TransformerXl, EqualsTheSeparableForm) {
  constexpr std::int64_t kHeads = 2, kHeadWidth = 8, kAll = 16, kBands = kAll / 4;
  const Layout layout{{4, 5}, 0};
  const auto one = one_prior("transformer-xl", {}, kHeads, kHeadWidth, layout);
  const at::NoGradGuard no_grad;
  for (auto& entry : one.prior->named_parameters()) entry.value().copy_(draw(entry.key(), entry.value().sizes()));
  const Tensor q = draw("q", {2, kHeads, 20, kHeadWidth}), x = draw("x", {2, 20, kAll});
  const Tensor found = one.bias(layout, x, q, q).dense();

  const Tensor map = one.parameter("layers.0.relative").view({kHeads, kHeadWidth, kAll});
  const Tensor z = at::matmul(q + one.parameter("v").unsqueeze(1), map);  // [B, H, T, D]
  const Tensor frequency = at::pow(10000.0, at::arange(kBands, at::kDouble) / -double(kBands));
  const Tensor position = grid_positions(layout, at::kDouble);
  Tensor expected = at::zeros_like(found);
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const Tensor angle = position.select(1, axis).unsqueeze(1) * frequency;  // [T, K]
    const Tensor zs = z.slice(-1, axis * 2 * kBands, (axis * 2 + 1) * kBands),
                 zc = z.slice(-1, (axis * 2 + 1) * kBands, (axis * 2 + 2) * kBands);
    const Tensor on_sin = -zs * angle.cos() + zc * angle.sin(), on_cos = zs * angle.sin() + zc * angle.cos();
    expected += at::matmul(on_sin, angle.sin().t()) + at::matmul(on_cos, angle.cos().t());
  }
  EXPECT_LT(largest_difference(found, expected * one.info.scale), 1e-12);
}

TEST(TransformerXl, SharesItsBiasesBetweenLayers) {
  const std::int64_t width = 12 * 64;
  EXPECT_EQ(one_prior("transformer-xl", {}, 12, 64, kTablesGrid, 12).parameters(),
            12 * (width * width + width) + 2 * width);
}

TEST(TransformerXl, StartsWithoutABiasOrNormal) {
  const auto zero = one_prior("transformer-xl", {}, 4, 48, kTablesGrid, 2),
             normal = one_prior("transformer-xl", {{"init", "normal"}}, 4, 48, kTablesGrid, 2);
  for (const char* name : {"u", "v"}) {
    EXPECT_EQ(zero.parameter(name).abs().max().item<double>(), 0);
    EXPECT_NEAR(normal.parameter(name).std().item<double>(), 0.02, 0.004);
  }
  EXPECT_FALSE(at::equal(normal.parameter("u"), normal.parameter("v")));
  EXPECT_NEAR(normal.parameter("layers.1.relative").std().item<double>(), 0.02, 0.001);
  EXPECT_TRUE(at::equal(normal.parameter("layers.0.relative"), zero.parameter("layers.0.relative")));
  EXPECT_EQ(normal.parameter("layers.1.prefix").abs().max().item<double>(), 0);
}

TEST(Gpsa, HasFiveScalarsAHeadAndLayerInTheFirstLayersOnly) {
  const Layout grid{{14, 14}, 0};
  for (const auto& [heads, count] : std::map<std::int64_t, std::int64_t>{{4, 20}, {9, 45}, {16, 80}})
    EXPECT_EQ(one_prior("gpsa", {}, heads, 48, grid, 12).parameters(), 10 * count);
  EXPECT_EQ(one_prior("gpsa", {{"layers", 3}}, 4, 48, grid, 12).parameters(), 3 * 20);
}

TEST(Gpsa, HeadsStartLookingAtTheirOwnNeighbor) {
  const Layout grid{{5, 5}, 0};
  const auto one = one_prior("gpsa", {{"strength", 3.0}}, 9, 4, grid);
  {
    const at::NoGradGuard no_grad;
    one.parameter("layers.0.gate").fill_(50);  // position alone
  }
  const Tensor x = at::zeros({1, 25, 36}, at::kDouble), q = at::zeros({1, 9, 25, 4}, at::kDouble);
  const Tensor p = one.prior->layers()[0]->probabilities(at::full({1, 9, 25, 25}, 1 / 25.0, at::kDouble),
                                                         {x, q, q, q, grid}, test::test_context(false));
  for (std::int64_t n = 0; n < 9; ++n) {
    const std::int64_t dy = n % 3 - 1, dx = n / 3 - 1;
    EXPECT_EQ(p[0][n][12].argmax().item<std::int64_t>(), 12 + 5 * dy + dx) << "head " << n;
  }
}

TEST(Violin, WithManhattanDistanceHasOneOrTwoLambdasAndAnAlpha) {
  EXPECT_EQ(one_prior("violin", {{"distance", "manhattan"}}, 12, 4, kTablesGrid, 12).parameters(), 288);
  EXPECT_EQ(
      one_prior("violin", {{"distance", "manhattan"}, {"separate_axes", true}}, 12, 4, kTablesGrid, 12).parameters(),
      432);
}

TEST(Violin, RandomOrderTravelsWithTheCheckpoint) {
  const test::PriorSetting setting{"violin", {{"distance", "random"}}};
  const auto from = test::small_model({setting}, {}, 1), to = test::small_model({setting}, {}, 2);
  const Tensor images = test::test_images(1, {8, 10});
  const at::NoGradGuard no_grad;
  to->forward(images, test::test_context(false));
  for (auto& entry : to->named_parameters()) entry.value().copy_(from->named_parameters()[entry.key()]);
  EXPECT_FALSE(at::equal(to->forward(images, test::test_context(false)).tokens,
                         from->forward(images, test::test_context(false)).tokens))
      << "two seeds, two orders";
  for (auto& entry : to->named_buffers()) entry.value().copy_(from->named_buffers()[entry.key()]);
  EXPECT_TRUE(at::equal(to->forward(images, test::test_context(false)).tokens,
                        from->forward(images, test::test_context(false)).tokens));
}

}  // namespace
}  // namespace locus::engine

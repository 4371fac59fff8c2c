// Decays with the Manhattan distance: rates, masks, and the low-rank form that must equal them exactly.
#include <gtest/gtest.h>

#include "tests/engine/priors/one_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::attended;
using test::draw;
using test::largest_difference;
using test::one_prior;
using test::paths_for;

constexpr double kTolerance = 1e-12;

std::vector<double> gammas(std::int64_t heads, double range) {
  const Layout layout{{1, 2}, 0};
  const Tensor bias = one_prior("manhattan-decay", {{"range", range}}, heads, 4, layout).bias(layout).dense();
  std::vector<double> out;
  for (std::int64_t n = 0; n < heads; ++n) out.push_back(std::exp(bias[0][n][0][1].item<double>()));
  return out;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.at(i), expected[i], 5e-6) << "head " << i;
}

TEST(ManhattanDecay, HasTheRatesOfRmt) {
  expect_near(gammas(4, 4), {.75, .875, .9375, .96875});
  expect_near(gammas(8, 6), {.75, .85135, .91161, .94744, .96875, .98142, .98895, .99343});
  expect_near(gammas(16, 6), {.75, .80722, .85135});
  const std::vector<double> logarithms = {-.28768, -.13353, -.06454, -.03175}, gamma = gammas(4, 4);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_NEAR(std::log(gamma[n]), logarithms[n], 5e-6) << "head " << n;
}

TEST(ManhattanDecay, HasNoParameter) { EXPECT_EQ(one_prior("manhattan-decay", {}, 4, 4, {{3, 3}, 0}).parameters(), 0); }

// The dense mask 1/2 alpha (G_i + G_j) d_M, written out.
Tensor gated_mask(const Tensor& x, const Tensor& weight, const Layout& layout, double alpha) {
  const Tensor gate = at::log_sigmoid(at::linear(x, weight)).transpose(1, 2);  // [B, H, T]
  const Tensor position = grid_positions(layout, at::kDouble);
  const Tensor distance = (position.unsqueeze(1) - position.unsqueeze(0)).abs().sum(-1);
  const Tensor patches = at::constant_pad_nd(distance, {layout.prefix, 0, layout.prefix, 0});
  return alpha * 0.5 * (gate.unsqueeze(-1) + gate.unsqueeze(-2)) * patches;
}

// Values and every gradient of two ways to compute one thing.
void expect_same(const std::function<Tensor()>& one, const std::function<Tensor()>& other,
                 const std::vector<Tensor>& leaves, const Tensor& weight) {
  const Tensor a = one(), b = other();
  EXPECT_LT(largest_difference(a, b), kTolerance);
  (a * weight).sum().backward();
  std::vector<Tensor> gradients;
  for (Tensor leaf : leaves) {
    gradients.push_back(leaf.grad().clone());
    leaf.mutable_grad().reset();
  }
  (b * weight).sum().backward();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_LT(largest_difference(gradients[i], leaves[i].grad()), 20 * kTolerance) << "leaf " << i;
    leaves[i].mutable_grad().reset();
  }
}

TEST(SpatialDecay, EqualsTheExplicitMaskOnEveryPathWithAndWithoutPrefixTokens) {
  constexpr std::int64_t kHeads = 2, kWidth = 8;
  for (const Layout& layout : {Layout{{6, 6}, 0}, Layout{{5, 7}, 1}, Layout{{14, 14}, 0}, Layout{{6, 5}, 5}}) {
    const auto one = one_prior("spatial-decay", {{"alpha", 0.3}}, kHeads, kWidth, layout);
    const Tensor weight = one.parameter("layers.0.decay");
    {
      const at::NoGradGuard no_grad;
      weight.copy_(draw("decay", weight.sizes(), 0.7));
    }
    const std::vector<std::int64_t> shape = {2, kHeads, layout.tokens(), kWidth};
    const Tensor x = draw("x", {2, layout.tokens(), kHeads * kWidth}).requires_grad_(),
                 q = draw("q", shape).requires_grad_(), k = draw("k", shape).requires_grad_(),
                 v = draw("v", shape).requires_grad_();
    for (const std::string& path : paths_for(q, one.bias(layout, x))) {
      expect_same([&] { return attended(path, q, k, v, 0.35, one.bias(layout, x)); },
                  [&] {
                    const BiasTerm mask(Depends::kContent, Dense{gated_mask(x, weight, layout, 0.3)});
                    return attended("explicit", q, k, v, 0.35, mask);
                  },
                  {x, q, k, v, weight}, draw("weight", shape));
    }
  }
}

TEST(SpatialDecay, KeepsANumberAPatchAndNothingOfAllPairs) {
  const Layout layout{{14, 14}, 1};
  const auto form = [&](const char* mode) {
    return one_prior("spatial-decay", {{"mode", mode}}, 2, 8, layout).bias(layout).form();
  };
  EXPECT_EQ(std::get<Gated>(form("full")).gate.sizes(), at::IntArrayRef({1, 2, 196}));
  for (const char* mode : {"raster", "bidirectional"})
    EXPECT_EQ(std::get<Scan>(form(mode)).place.sizes(), at::IntArrayRef({1, 2, 196})) << mode;
  EXPECT_NE(std::get<RelativeTable>(form("static")).index.rule(), nullptr);
}

// The mean of the distances of sums with and without the patch itself, as published.
TEST(SpatialDecay, BidirectionalIsTheMeanOfTwoScans) {
  const Layout layout{{2, 5}, 2};
  const auto one = one_prior("spatial-decay", {{"mode", "bidirectional"}, {"beta", 0.7}}, 2, 4, layout);
  const Tensor x = draw("x", {3, layout.tokens(), 8}, 3);
  const Tensor gate =
      at::log_sigmoid(at::linear(x.slice(1, 2), one.parameter("layers.0.decay"))).transpose(1, 2);  // [B, H, N]
  const Tensor with = gate.cumsum(-1), without = with - gate;
  const auto apart = [](const Tensor& sums) { return (sums.unsqueeze(-1) - sums.unsqueeze(-2)).abs(); };
  const Tensor expected = at::constant_pad_nd(-0.35 * (apart(with) + apart(without)), {2, 0, 2, 0});
  EXPECT_LT(largest_difference(one.bias(layout, x).dense().detach(), expected.detach()), kTolerance);
}

TEST(ManhattanDecay, EqualsTheExplicitMaskOnEveryPathWithAndWithoutPrefixTokens) {
  for (const Layout& layout : {Layout{{6, 6}, 0}, Layout{{5, 7}, 1}, Layout{{14, 14}, 5}}) {
    const auto one = one_prior("manhattan-decay", {}, 3, 4, layout);
    const BiasTerm term = one.bias(layout);
    const Tensor position = grid_positions(layout, at::kDouble);
    const Tensor distance = at::constant_pad_nd((position.unsqueeze(1) - position.unsqueeze(0)).abs().sum(-1),
                                                {layout.prefix, 0, layout.prefix, 0});
    Tensor slope = at::empty({3}, at::kDouble);
    for (int n = 0; n < 3; ++n) slope[n] = std::log(1 - std::pow(2.0, -2 - 4.0 * n / 3));
    const Tensor mask = (slope.view({1, 3, 1, 1}) * distance);
    EXPECT_LT(largest_difference(term.dense(), mask), kTolerance);
    const std::vector<std::int64_t> shape = {2, 3, layout.tokens(), 4};
    const Tensor q = draw("q", shape), k = draw("k", shape), v = draw("v", shape);
    const BiasTerm dense(Depends::kLayout, Dense{mask});
    for (const std::string& path : paths_for(q, term)) {
      EXPECT_LT(largest_difference(attended(path, q, k, v, 0.5, term), attended("explicit", q, k, v, 0.5, dense)),
                kTolerance)
          << path;
    }
  }
}

// A scan from the other end is the scan of the reversed sequence.
TEST(SpatialDecay, BidirectionalMaskDoesNotKnowWhichEndIsFirst) {
  const Layout layout{{1, 9}, 0};
  const auto one = one_prior("spatial-decay", {{"mode", "bidirectional"}}, 2, 4, layout);
  const Tensor x = draw("x", {1, 9, 8}, 3);
  const Tensor there = one.bias(layout, x).dense(), back = one.bias(layout, x.flip(1)).dense();
  EXPECT_LT(largest_difference(there, back.flip({2, 3})), kTolerance);
  const auto raster = one_prior("spatial-decay", {{"mode", "raster"}}, 2, 4, layout);
  EXPECT_GT(largest_difference(raster.bias(layout, x).dense(), raster.bias(layout, x.flip(1)).dense().flip({2, 3})),
            1e-3)
      << "the one-sided mask does know";
}

TEST(SpatialDecay, StaticModeIsManhattanDecay) {
  const Layout layout{{4, 6}, 1};
  EXPECT_LT(largest_difference(one_prior("spatial-decay", {{"mode", "static"}}, 4, 4, layout).bias(layout).dense(),
                               one_prior("manhattan-decay", {}, 4, 4, layout).bias(layout).dense()),
            kTolerance);
}

// The paper's rotation and convolution, as parts of this prior or as priors beside it.
TEST(SpatialDecay, PartsAreThePriorsOfTheirOwnName) {
  for (const auto& [rope, flavor] : std::map<std::string, std::string>{{"raster", "rmt"}, {"axial", "rope-vit"}}) {
    const test::ModelShape shape{.pool = "cls", .registers = 1};
    const auto within = test::small_model({{"spatial-decay", {{"rope", rope}, {"lepe", "5x5"}}}}, shape);
    const auto beside = test::small_model({{"rope-axial", {{"flavor", flavor}}}, {"lepe"}, {"spatial-decay"}}, shape);
    {
      const at::NoGradGuard no_grad;
      auto to = beside->named_parameters();
      for (const auto& entry : within->named_parameters()) {
        const std::string part = "priors.spatial-decay.lepe.";
        const bool convolution = entry.key().starts_with(part);
        to[convolution ? "priors.lepe." + entry.key().substr(part.size()) : entry.key()].copy_(entry.value());
      }
    }
    const Tensor images = test::test_images(2, {8, 10});
    EXPECT_TRUE(at::equal(within->forward(images, test::test_context(false)).tokens,
                          beside->forward(images, test::test_context(false)).tokens))
        << rope;
  }
}

TEST(SpatialDecay, RefusesAPartThatStandsBesideItToo) {
  for (const auto& [own, other] : std::map<std::string, std::string>{{"rope", "rope-axial"}, {"lepe", "lepe"}}) {
    const Json options = {{own, own == "rope" ? "raster" : "3x3"}};
    EXPECT_THROW(test::small_model({{other}, {"spatial-decay", options}}), std::invalid_argument) << other;
    EXPECT_NO_THROW(test::small_model({{other}, {"spatial-decay"}})) << other;
  }
}

TEST(SpatialDecay, AddsTheParametersOfItsGates) {
  // Per layer: D h for the decay and 2 D r for the output, r the head width; two decay gates when decomposed.
  const Layout layout{{4, 4}, 0};
  EXPECT_EQ(one_prior("spatial-decay", {}, 12, 64, layout, 12).parameters(), 12 * (768 * 12 + 2 * 768 * 64));
  EXPECT_EQ(one_prior("spatial-decay", {{"mode", "decomposed"}, {"gate_rank", 16}}, 4, 16, layout).parameters(),
            2 * 64 * 4 + 2 * 64 * 16);
  EXPECT_EQ(one_prior("spatial-decay", {{"mode", "none"}, {"gate", false}}, 4, 16, layout).parameters(), 0);
  EXPECT_EQ(one_prior("spatial-decay", {{"lepe", "5x5"}}, 12, 64, layout, 12).parameters(),
            12 * (768 * 12 + 2 * 768 * 64 + 26 * 768))
      << "the whole of SDT";
}

TEST(SpatialDecay, StartsNearARateOfSeventyPercent) {
  const Layout layout{{1, 2}, 0};
  const auto one = one_prior("spatial-decay", {{"alpha", 1.0}}, 4, 48, layout);
  const Tensor bias = one.bias(layout, draw("x", {64, 2, 192})).dense();
  EXPECT_NEAR(bias.select(2, 0).select(2, 1).mean().item<double>(), -0.70, 0.02) << "G at the start";
}

}  // namespace
}  // namespace locus::engine

// What random streams promise: published numbers, independence of purpose and order, the right distributions.
#include "engine/base/random.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "engine/base/draws.h"

namespace locus::engine {
namespace {

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, ReproducesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStreams, DrawsTheSameBitsHoweverOftenAndInWhateverOrder) {
  const RandomStreams a(7), b(7);
  const auto first = a.normal("x", "w", 3, {64});
  b.uniform("x", "w", 9, {1000});
  b.permutation("y", "w", 3, 50);
  EXPECT_TRUE(at::equal(first, b.normal("x", "w", 3, {64})));
}

TEST(RandomStreams, AnElementDoesNotDependOnTheShapeAround) {
  const RandomStreams random(7);
  EXPECT_TRUE(
      at::equal(random.normal("x", "w", 0, {10, 10}).view({100}).slice(0, 0, 30), random.normal("x", "w", 0, {30})));
}

TEST(RandomStreams, SeedPurposeNameAndIndexEachChangeEverything) {
  const auto base = RandomStreams(7).uniform("x", "w", 0, {256});
  for (const auto& other :
       {RandomStreams(8).uniform("x", "w", 0, {256}), RandomStreams(7).uniform("y", "w", 0, {256}),
        RandomStreams(7).uniform("x", "v", 0, {256}), RandomStreams(7).uniform("x", "w", 1, {256})}) {
    EXPECT_EQ(at::eq(base, other).sum().item<std::int64_t>(), 0);
  }
  // Fields cannot slide into each other.
  EXPECT_FALSE(at::equal(RandomStreams(7).uniform("xw", "", 0, {8}), RandomStreams(7).uniform("x", "w", 0, {8})));
}

TEST(RandomStreams, UniformFillsItsHalfOpenInterval) {
  const auto u = RandomStreams(1).uniform("x", "w", 0, {200000}, -3, 5).to(at::kDouble);
  EXPECT_GE(u.min().item<double>(), -3);
  EXPECT_LT(u.max().item<double>(), 5);
  EXPECT_NEAR(u.mean().item<double>(), 1, 0.03);
  EXPECT_NEAR(u.var().item<double>(), 64.0 / 12, 0.05);
  // A step so narrow that rounding would reach the open end.
  const float top = std::nextafter(1.0f, 2.0f);
  EXPECT_LT(RandomStreams(1).uniform("x", "w", 0, {1000}, 1, top).max().item<float>(), top);
}

TEST(RandomStreams, NormalHasTheMomentsAndTailsOfANormal) {
  const auto z = RandomStreams(1).normal("x", "w", 0, {400000}).to(at::kDouble);
  EXPECT_NEAR(z.mean().item<double>(), 0, 0.006);
  EXPECT_NEAR(z.var().item<double>(), 1, 0.01);
  EXPECT_NEAR(z.pow(3).mean().item<double>(), 0, 0.03);
  EXPECT_NEAR(z.pow(4).mean().item<double>(), 3, 0.08);
  EXPECT_NEAR((z.abs() > 1.959963984540054).to(at::kDouble).mean().item<double>(), 0.05, 0.002);
}

TEST(RandomStreams, NormalIsBoxAndMullersFormula) {
  const RandomStreams random(5);
  const auto z = random.normal("x", "w", 2, {2000});
  const auto radius = random.uniform("x", "w", 2, {2000}).to(at::kDouble);  // the first word of the same blocks
  // |z| never exceeds the radius that the first word gives.
  const auto bound = (radius.log() * -2).clamp_min(0).sqrt();
  EXPECT_TRUE((z.to(at::kDouble).abs() <= bound + 1e-3).all().item<bool>());
  // and its cosine is uniform in angle: mean of cos^2 is a half.
  EXPECT_NEAR((z.to(at::kDouble) / bound).square().mean().item<double>(), 0.5, 0.03);
}

// Worked out apart, with another language's Philox, SHA-256 and C library.
TEST(RandomStreams, KeepsTheBitsItHadWhenResultsWereFirstRecorded) {
  const auto z = RandomStreams(0).normal(kInitialization, "blocks.0.attn.qkv.weight", 0, {4});
  const auto p = RandomStreams(0).permutation(kOrder, "train", 0, 8);
  std::vector<std::uint32_t> bits;
  for (int i = 0; i < 4; ++i) bits.push_back(std::bit_cast<std::uint32_t>(z[i].item<float>()));
  std::vector<std::int64_t> order(p.data_ptr<std::int64_t>(), p.data_ptr<std::int64_t>() + 8);
  EXPECT_EQ(bits, (std::vector<std::uint32_t>{0x3ee3d137, 0xbe1cd80b, 0xbcb2850f, 0xbf524568}));
  EXPECT_EQ(order, (std::vector<std::int64_t>{4, 7, 3, 6, 5, 0, 1, 2}));
}

TEST(RandomStreams, TruncatedNormalStaysInsideAndKeepsTheShapeWithin) {
  const auto z = RandomStreams(1).truncated_normal("x", "w", 0, {200000}, 0, 1, -2, 2).to(at::kDouble);
  EXPECT_LE(z.abs().max().item<double>(), 2);
  EXPECT_NEAR(z.var().item<double>(), 0.7737, 0.01);  // 1 - 2 * 2 phi(2) / (Phi(2) - Phi(-2))
  EXPECT_NEAR((z.abs() < 1).to(at::kDouble).mean().item<double>(), 0.6827 / 0.9545, 0.004);
  EXPECT_THROW(RandomStreams(1).truncated_normal("x", "w", 0, {1}, 0, 1, 40, 41), std::invalid_argument);
  EXPECT_THROW(RandomStreams(1).truncated_normal("x", "w", 0, {1}, 0, 1, 2, -2), std::invalid_argument);
}

TEST(Draws, AreTheNumbersThatTensorsOfTheStreamHold) {
  const RandomStreams random(3);
  const at::Tensor uniform = random.uniform("p", "n", 5, {4}), normal = random.normal("p", "n", 5, {4});
  for (std::uint64_t element = 0; element < 4; ++element) {
    const auto i = static_cast<std::int64_t>(element);
    EXPECT_EQ(static_cast<float>(draw_unit(random, "p", "n", {5, element, 0})), uniform[i].item<float>());
    EXPECT_EQ(static_cast<float>(draw_normal(random, "p", "n", {5, element, 0})), normal[i].item<float>());
    EXPECT_NE(draw_unit(random, "p", "n", {5, element, 1}), draw_unit(random, "p", "n", {5, element, 0}));
  }
}

TEST(RandomStreams, PermutationBeginsAlikeHoweverMuchOfItIsWanted) {
  const RandomStreams random(1);
  const auto whole = random.permutation(kOrder, "train", 0, 500);
  for (const std::int64_t count : {0, 1, 7, 499, 500})
    EXPECT_TRUE(at::equal(random.permutation_begin(kOrder, "train", 0, 500, count), whole.slice(0, 0, count))) << count;
}

TEST(RandomStreams, PermutationHoldsEveryNumberOnceAndMixes) {
  const auto p = RandomStreams(1).permutation(kOrder, "train", 0, 5000);
  EXPECT_TRUE(at::equal(std::get<0>(p.sort()), at::arange(5000)));
  EXPECT_LT(at::eq(p, at::arange(5000)).sum().item<std::int64_t>(), 8);
  EXPECT_FALSE(at::equal(p, RandomStreams(1).permutation(kOrder, "train", 1, 5000)));
  EXPECT_EQ(RandomStreams(1).permutation(kOrder, "train", 0, 0).numel(), 0);
}

}  // namespace
}  // namespace locus::engine

// Gated positional attention as published: the blend, the identity start, the class token that joins late.
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>

#include "tests/engine/priors/one_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::draw;
using test::largest_difference;
using test::one_prior;
using test::small_model;
using test::test_context;
using test::test_images;

const Json kLate = {{"layers", 2}, {"prefix", "late"}};

// P V = (1 - s) softmax(c q k^T) V + s softmax(R) V: a fused kernel, and a matrix that no content enters.
TEST(Gpsa, IsABlendOfTwoAttentions) {
  constexpr std::int64_t kHeads = 4, kWidth = 6;
  const Layout layout{{3, 4}, 0};
  const auto one = one_prior("gpsa", {}, kHeads, kWidth, layout);
  const at::NoGradGuard no_grad;
  for (auto& entry : one.prior->named_parameters()) entry.value().copy_(draw(entry.key(), entry.value().sizes()));
  const std::vector<std::int64_t> shape = {2, kHeads, 12, kWidth};
  const Tensor q = draw("q", shape), k = draw("k", shape), v = draw("v", shape),
               x = draw("x", {2, 12, kHeads * kWidth});
  const Tensor content = at::softmax(at::matmul(q, k.mT()) * one.info.scale, -1);
  const Tensor found =
      at::matmul(one.prior->layers()[0]->probabilities(content, {x, q, k, v, layout}, test_context(false)), v);

  const Tensor weight = one.parameter("layers.0.weight"), offset = one.parameter("layers.0.bias");
  Tensor score = at::empty({kHeads, 12, 12}, at::kDouble);
  for (std::int64_t n = 0; n < kHeads; ++n) {
    for (std::int64_t i = 0; i < 12; ++i) {
      for (std::int64_t j = 0; j < 12; ++j) {
        const auto dx = static_cast<double>(j % 4 - i % 4), dy = static_cast<double>(j / 4 - i / 4);
        score[n][i][j] = weight[n][0] * dx + weight[n][1] * dy + weight[n][2] * (dx * dx + dy * dy) + offset[n];
      }
    }
  }
  const Tensor share = at::sigmoid(one.parameter("layers.0.gate")).view({-1, 1, 1});
  const Tensor by_content =
      at::scaled_dot_product_attention(q, k, v, std::nullopt, 0, /*is_causal=*/false, one.info.scale);
  const Tensor by_position = at::matmul(at::softmax(score, -1), v);
  EXPECT_LT(largest_difference(found, (1 - share) * by_content + share * by_position), 1e-12);
}

TEST(Gpsa, CanStartTheMapToValuesAsTheIdentityInItsOwnBlocks) {
  const Json options = {{"layers", 1}, {"values", "identity"}};
  const auto with = small_model({{"gpsa", options}})->named_parameters(), host = small_model({})->named_parameters();
  const auto weight = [](const auto& of, const char* block) {
    return of[std::string("blocks.") + block + ".attention.qkv.weight"];
  };
  EXPECT_TRUE(at::equal(weight(with, "0").slice(0, 64), at::eye(32)));
  EXPECT_TRUE(at::equal(weight(with, "0").slice(0, 0, 64), weight(host, "0").slice(0, 0, 64)))
      << "queries and keys start as the host's";
  EXPECT_TRUE(at::equal(weight(with, "1"), weight(host, "1"))) << "a plain block";
}

TEST(Gpsa, LatePrefixTokensJoinBehindItsBlocks) {
  const auto model = small_model({{"gpsa", kLate}}, {.pool = "cls", .registers = 2, .depth = 4});
  for (const char* tap : {"block-0", "block-1", "block-2"}) model->request_tap(tap);
  const Tensor images = test_images(2, {8, 10});
  const Features before = model->forward(images, test_context(false));
  EXPECT_EQ(before.taps.at("block-0").size(1), 20);
  EXPECT_EQ(before.taps.at("block-1").size(1), 20);
  EXPECT_EQ(before.taps.at("block-2").size(1), 23);
  EXPECT_EQ(before.layout, (Layout{{4, 5}, 3}));
  {
    const at::NoGradGuard no_grad;
    model->named_parameters()["class_token"].add_(1);
  }
  const Features after = model->forward(images, test_context(false));
  EXPECT_TRUE(at::equal(after.taps.at("block-1"), before.taps.at("block-1")));
  EXPECT_GT(largest_difference(after.taps.at("block-2").slice(1, 3), before.taps.at("block-2").slice(1, 3)), 0)
      << "from here on patches see the class token";
}

TEST(Gpsa, LatePrefixTokensJoinBeforeTheLastBlockWhereThereAreNoFurtherBlocks) {
  const auto model = small_model({{"gpsa", {{"prefix", "late"}}}}, {.pool = "cls", .depth = 2});
  model->request_tap("block-0");
  const Features features = model->forward(test_images(2, {8, 10}), test_context(false));
  EXPECT_EQ(features.taps.at("block-0").size(1), 20);
  EXPECT_EQ(features.tokens.size(1), 21);
  EXPECT_GT(largest_difference(features.tokens[0][0], features.tokens[1][0]), 1e-4) << "it saw the images";
}

TEST(Gpsa, LatePrefixTokensHaveNoPositionAtTheStemAndCostNothingBefore) {
  const auto shape = test::ModelShape{.pool = "cls", .depth = 4};
  const test::PriorSetting rows{"learned-absolute", {{"rows", "with-class"}}};
  const auto late = small_model({rows, {"gpsa", kLate}}, shape), first = small_model({rows, {"gpsa"}}, shape);
  EXPECT_EQ(late->named_parameters()["priors.learned-absolute.table"].size(0), 20);
  EXPECT_EQ(first->named_parameters()["priors.learned-absolute.table"].size(0), 21);
  const std::int64_t projections = 8 * 32 * 32 + 4 * 32 * 128;  // of a token in a block
  EXPECT_EQ(first->flops(8, 10) - late->flops(8, 10), 2 * (projections + 4 * 32 * (21 * 21 - 20 * 20)));
}

}  // namespace
}  // namespace locus::engine

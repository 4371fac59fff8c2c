// Operations: by hand, by structure and as dispatched.
#include "engine/measure/flops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/measure/measurement.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::ModelShape;

std::int64_t count(const std::function<void()>& work) {
  const FlopCounter counter;
  work();
  return counter.total();
}

TEST(FlopCounter, CountsAMultiplyAddOfAProductAsTwo) {
  const Tensor a = at::rand({3, 4}), b = at::rand({4, 5}), v = at::rand({4}), bias = at::rand({5});
  EXPECT_EQ(count([&] { at::mm(a, b); }), 2 * 3 * 4 * 5);
  EXPECT_EQ(count([&] { at::addmm(bias, a, b); }), 2 * 3 * 4 * 5);
  EXPECT_EQ(count([&] { at::mv(a, v); }), 2 * 3 * 4);
  const Tensor many = at::rand({7, 3, 4}), others = at::rand({7, 4, 5});
  EXPECT_EQ(count([&] { at::bmm(many, others); }), 2 * 7 * 3 * 4 * 5);
  EXPECT_EQ(count([&] { at::matmul(many, b); }), 2 * 7 * 3 * 4 * 5) << "composites are the products they make";
  EXPECT_EQ(count([&] { at::linear(many, b.t(), bias); }), 2 * 7 * 3 * 4 * 5);
}

TEST(FlopCounter, CountsConvolutionsByTheirOutputs) {
  const Tensor image = at::rand({2, 6, 10, 8});
  EXPECT_EQ(count([&] { at::conv2d(image, at::rand({4, 6, 3, 3}), {}, 1, 1); }), 2 * 2 * 4 * 10 * 8 * 6 * 9);
  EXPECT_EQ(count([&] { at::conv2d(image, at::rand({4, 6, 2, 2}), {}, 2); }), 2 * 2 * 4 * 5 * 4 * 6 * 4);
  EXPECT_EQ(count([&] { at::conv2d(image, at::rand({6, 1, 3, 3}), {}, 1, 1, 1, 6); }), 2 * 2 * 6 * 10 * 8 * 9);
}

TEST(FlopCounter, CountsFusedAttentionAsItsTwoProducts) {
  const Tensor q = at::rand({2, 3, 140, 8}), k = at::rand({2, 3, 140, 8});
  EXPECT_EQ(count([&] { at::scaled_dot_product_attention(q, k, k); }), 2 * 2 * 3 * 140 * 140 * (8 + 8));
}

TEST(FlopCounter, CountsNothingElseAndNothingAfterItsEnd) {
  const Tensor a = at::rand({3, 4});
  EXPECT_EQ(count([&] { at::softmax(at::gelu(a * 2 + 1), -1); }), 0);
  std::int64_t before = 0;
  {
    const FlopCounter counter;
    at::mm(a, a.t());
    before = counter.total();
    EXPECT_THROW(FlopCounter(), std::logic_error);
  }
  at::mm(a, a.t());
  EXPECT_EQ(before, 2 * 3 * 4 * 3);
  EXPECT_EQ(count([] {}), 0);
}

TEST(Flops, OfASmallVitAreThoseWorkedOutByHand) {
  // 4 x 5 patches of 2 x 2 x 2 numbers, a class token: T = 21; D = 32, hidden 128, two blocks.
  const auto model = test::small_model({{"none"}}, {.pool = "cls"});
  const std::int64_t embed = 2 * 20 * 8 * 32;
  const std::int64_t qkv = 2 * 21 * 32 * 96, scores = 2 * 21 * 21 * 32, values = 2 * 21 * 21 * 32,
                     out = 2 * 21 * 32 * 32, mlp = 2 * 2 * 21 * 32 * 128;
  EXPECT_EQ(model->flops(8, 10), embed + 2 * (qkv + scores + values + out + mlp));
  EXPECT_EQ(model->flops(8, 10), 1'155'328);
}

TEST(Flops, AsDispatchedAreThoseOfTheStructureWithoutPriors) {
  const at::NoGradGuard no_gradient;
  for (const char* pool : {"mean", "cls"}) {
    for (const std::vector<std::int64_t>& extent :
         {std::vector<std::int64_t>{8, 10}, std::vector<std::int64_t>{28, 24}}) {  // explicit and fused
      const auto model = test::small_model({{"none"}}, {.pool = pool, .registers = 1});
      const Tensor image = test::test_images(1, extent);
      EXPECT_EQ(count([&] { model->forward(image, test::test_context(false)); }), model->flops(extent[0], extent[1]))
          << pool << " " << model->path();
    }
  }
}

TEST(Flops, OfAxialAttentionAreLinesNotSquares) {
  const at::NoGradGuard no_gradient;
  for (const test::PriorSetting& setting : test::all_settings()) {
    if (!test::axial(setting)) continue;
    const auto model = test::small_model({setting}, test::fitting(setting, {}));
    const auto plain = test::small_model({{"none"}}, {});
    EXPECT_EQ(plain->flops(8, 10) - model->flops(8, 10), 2 * 4 * 20 * (20 - 9) * 32) << setting.name();
  }
}

// DeiT's table (Touvron et al. 2021, table 5, and the timm listings): 1.3, 4.6 and 17.6 billion
// multiply-adds.
TEST(Flops, OfDeitAreThePublishedOnes) {
  const struct {
    std::int64_t dim, heads;
    double published;
  } models[] = {{192, 3, 1.26e9}, {384, 6, 4.61e9}, {768, 12, 17.58e9}};
  for (const auto& [dim, heads, published] : models) {
    const Json configuration = {
        {"model",
         {{"id", "vit"}, {"options", {{"dim", dim}, {"depth", 12}, {"heads", heads}, {"patch", 16}, {"pool", "cls"}}}}},
        {"priors", {{{"id", "learned-absolute"}}}}};
    const auto model = make_backbone(configuration, {3, {224, 224}}, RandomStreams(0));
    const double flops = static_cast<double>(model->flops(224, 224) + 2 * dim * 1000);
    EXPECT_NEAR(flops / 2, published, 0.02 * published) << dim;
  }
}

TEST(Flops, NameTheOperatorsThatCount) {
  EXPECT_THAT(counted_operators(), ::testing::IsSupersetOf({"aten::addmm", "aten::bmm", "aten::convolution"}));
}

}  // namespace
}  // namespace locus::engine

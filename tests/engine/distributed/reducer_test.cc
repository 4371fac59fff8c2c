// Gradients of parts of a batch: on every rank those of the whole.
#include <gmock/gmock.h>

#include "engine/distributed/reducer.h"
#include "tests/engine/distributed/ranks.h"

namespace locus::engine {
namespace {

constexpr int kWorld = 3;
constexpr BucketBytes kOneEach{1, 1};

// Three parameters, each a bucket of its own where a bucket holds no more than one.
struct Weights {
  std::vector<Tensor> all = {at::ones({4, 2}, at::kDouble).set_requires_grad(true),
                             at::ones({2}, at::kFloat).set_requires_grad(true),
                             at::ones({2}, at::kDouble).set_requires_grad(true)};
  std::vector<Tensor> gradients() const {
    std::vector<Tensor> out;
    for (const Tensor& parameter : all) out.push_back(parameter.grad());
    return out;
  }
};

Tensor loss_of(const Weights& weights, double by) {
  return (weights.all[0] * by).sum() + (weights.all[1] * (2 * by)).sum().to(at::kDouble) +
         (weights.all[2] * (3 * by)).sum();
}

class GradientsAreAddedUp : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(GradientsAreAddedUp, WhateverBucketsTheyComeIn) {
  as_ranks(kWorld, [](Gang& gang) {
    const Weights weights;
    GradientReducer reducer(gang, weights.all, BucketBytes{GetParam(), GetParam()});
    for (int step = 0; step < 3; ++step) {
      for (const Tensor& parameter : weights.all) parameter.mutable_grad().reset();
      reducer.begin();
      loss_of(weights, gang.rank() + step).backward();
      reducer.finish();
      const double sum = 3 + 3 * step;
      for (std::size_t i = 0; i < weights.all.size(); ++i) {
        EXPECT_TRUE(weights.all[i].grad().eq(static_cast<double>(i + 1) * sum).all().item<bool>())
            << "parameter " << i << " at step " << step;
      }
    }
  });
}
INSTANTIATE_TEST_SUITE_P(Bytes, GradientsAreAddedUp, ::testing::Values(1, 80, 25 << 20));

TEST(Reducer, WaitsForTheLastPartOfABatch) {
  as_ranks(2, [](Gang& gang) {
    const Weights weights;
    GradientReducer reducer(gang, weights.all, kOneEach);
    loss_of(weights, 1).backward();
    EXPECT_TRUE(weights.all[0].grad().eq(1).all().item<bool>()) << "nothing is exchanged before begin()";
    reducer.begin();
    loss_of(weights, 10).backward();
    reducer.finish();
    EXPECT_TRUE(weights.all[0].grad().eq(22).all().item<bool>());
  });
}

TEST(Reducer, TakesNoGradientForZeroWhereAnotherRankHasOne) {
  as_ranks(2, [](Gang& gang) {
    const Weights weights;
    GradientReducer reducer(gang, weights.all, kOneEach);
    reducer.begin();
    (gang.leads() ? loss_of(weights, 1) : weights.all[2].sum()).backward();
    reducer.finish();
    EXPECT_TRUE(weights.all[0].grad().eq(1).all().item<bool>());
    EXPECT_TRUE(weights.all[2].grad().eq(4).all().item<bool>());
  });
}

// An optimizer leaves such a parameter as it is, where it would still let one of zero gradients decay.
TEST(Reducer, LeavesWithoutAGradientWhatHasNoneOnAnyRank) {
  as_ranks(2, [](Gang& gang) {
    const Weights weights;
    GradientReducer reducer(gang, weights.all);
    reducer.begin();
    weights.all[0].sum().backward();
    reducer.finish();
    EXPECT_TRUE(weights.all[0].grad().eq(2).all().item<bool>());
    EXPECT_FALSE(weights.all[1].grad().defined());
    EXPECT_FALSE(weights.all[2].grad().defined());
  });
}

TEST(Reducer, IsGoneWithItsObject) {
  const Weights weights;
  as_ranks(2, [&](Gang& gang) {
    if (gang.leads()) GradientReducer(gang, weights.all, kOneEach).begin();
  });
  loss_of(weights, 1).backward();
  EXPECT_TRUE(weights.all[0].grad().eq(1).all().item<bool>());
}

// Exchanges with nobody, and says when they begin.
class LoneGang final : public Gang {
 public:
  explicit LoneGang(std::vector<std::string>& story) : Gang(0, 1), story_(story) {}
  std::unique_ptr<Pending> begin_sum(const Tensor&) override {
    story_.emplace_back("a sum begins");
    return std::make_unique<Done>();
  }
  void wait_at_most(std::chrono::milliseconds) override {}

 private:
  struct Done final : Pending {
    void wait() override {}
  };
  std::vector<std::string>& story_;
};

// Of `depth` layers, 64 KiB each.
std::vector<std::string> story_of_a_backward_pass(int depth) {
  std::vector<std::string> story;
  std::vector<Tensor> weights;
  for (int i = 0; i < depth; ++i) weights.push_back(at::full({128, 128}, 0.01).set_requires_grad(true));
  weights.front().register_hook([&](const Tensor&) { story.emplace_back("the last gradient is there"); });
  LoneGang gang(story);
  GradientReducer reducer(gang, weights);
  Tensor x = at::ones({1, 128});
  for (const Tensor& weight : weights) x = x.matmul(weight).tanh();
  reducer.begin();
  x.sum().backward();
  story.emplace_back("the backward pass is over");
  reducer.finish();
  return story;
}

TEST(Reducer, BeginsToAddUpLongBeforeTheLastGradientIsThere) {
  const std::vector<std::string> story = story_of_a_backward_pass(12);
  const auto last = std::find(story.begin(), story.end(), "the last gradient is there");
  ASSERT_NE(last, story.end());
  EXPECT_GE(std::count(story.begin(), last, "a sum begins"), 10) << "of a model of 768 KiB, too";
  EXPECT_EQ(story.back(), "the backward pass is over") << "and the last sum needs no more than the last gradient";
}

TEST(Buckets, AreAShareOfTheModelWithinBounds) {
  EXPECT_EQ(bucket_bytes(100 << 10).first, 64 << 10);
  EXPECT_EQ(bucket_bytes(100 << 10).others, 64 << 10);
  EXPECT_EQ(bucket_bytes(8 << 20).first, 512 << 10);
  EXPECT_EQ(bucket_bytes(8 << 20).others, 1 << 20);
  EXPECT_EQ(bucket_bytes(1 << 30).first, 1 << 20);
  EXPECT_EQ(bucket_bytes(1 << 30).others, 25 << 20);
}

}  // namespace
}  // namespace locus::engine

// Gradients of parts of a batch: on every rank those of the whole.
#include <gmock/gmock.h>

#include "engine/distributed/reducer.h"
#include "tests/engine/distributed/ranks.h"

namespace locus::engine {
namespace {

constexpr int kWorld = 3;

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
    GradientReducer reducer(gang, weights.all, GetParam());
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
    GradientReducer reducer(gang, weights.all, 1);
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
    GradientReducer reducer(gang, weights.all, 1);
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
    if (gang.leads()) GradientReducer(gang, weights.all, 1).begin();
  });
  loss_of(weights, 1).backward();
  EXPECT_TRUE(weights.all[0].grad().eq(1).all().item<bool>());
}

}  // namespace
}  // namespace locus::engine

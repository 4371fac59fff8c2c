// Losses of classification against their formulas in scalars.
#include "engine/tasks/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/random.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kBatch = 5, kClasses = 7;

Tensor some_logits() { return RandomStreams(1).normal("test", "logits", 0, {kBatch, kClasses}, 0, 3).to(at::kDouble); }

Tensor some_labels() { return at::tensor({3, 0, 6, 3, 1}, at::kLong); }

Tensor some_targets() {
  return RandomStreams(2).uniform("test", "targets", 0, {kBatch, kClasses}).to(at::kDouble).softmax(1);
}

Tensor certain(const Tensor& labels) {
  return at::zeros({kBatch, kClasses}, at::kDouble).scatter(1, labels.unsqueeze(1), 1.0);
}

// -log softmax of one class.
double surprise(const Tensor& logits, std::int64_t row, std::int64_t of) {
  double sum = 0;
  for (std::int64_t c = 0; c < kClasses; ++c) sum += std::exp(logits[row][c].item<double>());
  return std::log(sum) - logits[row][of].item<double>();
}

double plain_cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing) {
  double sum = 0;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t c = 0; c < kClasses; ++c) {
      const double t = (1 - smoothing) * targets[b][c].item<double>() + smoothing / kClasses;
      sum += t * surprise(logits, b, c);
    }
  }
  return sum / kBatch;
}

TEST(CrossEntropy, IsThatOfItsFormulaForLabelsAndForTargets) {
  const Tensor logits = some_logits();
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    EXPECT_NEAR(soft_cross_entropy(logits, some_labels(), smoothing).item<double>(),
                plain_cross_entropy(logits, certain(some_labels()), smoothing), 1e-12);
    EXPECT_NEAR(soft_cross_entropy(logits, some_targets(), smoothing).item<double>(),
                plain_cross_entropy(logits, some_targets(), smoothing), 1e-12);
  }
}

TEST(CrossEntropy, OfSmoothedLabelsIsTheirShareAndTheMeanOfAllClasses) {
  const Tensor logits = some_logits();
  double own = 0, all = 0;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    own += surprise(logits, b, some_labels()[b].item<std::int64_t>()) / kBatch;
    for (std::int64_t c = 0; c < kClasses; ++c) all += surprise(logits, b, c) / (kBatch * kClasses);
  }
  EXPECT_NEAR(soft_cross_entropy(logits, some_labels(), 0.1).item<double>(), 0.9 * own + 0.1 * all, 1e-12);
}

TEST(BinaryCrossEntropy, CountsEveryTargetAboveZeroFully) {
  const Tensor logits = some_logits();
  Tensor targets = at::zeros({kBatch, kClasses}, at::kDouble);
  targets[0][2] = 0.01;
  targets[0][5] = 0.99;
  targets[3][1] = 1;
  double sum = 0;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t c = 0; c < kClasses; ++c) {
      const double x = logits[b][c].item<double>(), p = 1 / (1 + std::exp(-x));
      sum -= targets[b][c].item<double>() > 0 ? std::log(p) : std::log(1 - p);
    }
  }
  EXPECT_NEAR(binarized_cross_entropy(logits, targets).item<double>(), sum / (kBatch * kClasses), 1e-10);
  EXPECT_NEAR(binarized_cross_entropy(logits, some_labels()).item<double>(),
              binarized_cross_entropy(logits, certain(some_labels())).item<double>(), 1e-15);
}

TEST(Losses, OfHalfPrecisionAreFloat32) {
  const Tensor logits = some_logits().to(at::kBFloat16);
  EXPECT_EQ(soft_cross_entropy(logits, some_targets(), 0).scalar_type(), at::kFloat);
  EXPECT_EQ(binarized_cross_entropy(logits, some_labels()).scalar_type(), at::kFloat);
}

TEST(Ranks, CountTheClassesBeforeTheLabelAndOfEqualOnesTheLower) {
  const Tensor logits = at::tensor({1.0, 5.0, 3.0, 5.0, 0.0, 0.0, 0.0, 0.0, 4.0, 1.0, NAN, 2.0}).view({3, 4});
  EXPECT_TRUE(at::equal(ranks(logits, at::tensor({3, 2, 2}, at::kLong)), at::tensor({1, 2, 4}, at::kLong)));
  EXPECT_TRUE(at::equal(ranks(logits, at::tensor({1, 0, 0}, at::kLong)), at::tensor({0, 0, 0}, at::kLong)));
}

}  // namespace
}  // namespace locus::engine

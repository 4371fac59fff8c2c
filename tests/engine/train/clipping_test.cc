// Limits on gradients against their formulas in scalars.
#include "engine/train/clipping.h"

#include <gtest/gtest.h>

#include <cmath>

namespace locus::engine {
namespace {

Tensor parameter(std::vector<double> values, std::vector<double> gradient, at::IntArrayRef shape) {
  const Tensor out = at::tensor(values, at::kDouble).view(shape).set_requires_grad(true);
  out.mutable_grad() = at::tensor(gradient, at::kDouble).view(shape);
  return out;
}

double gradient_at(const Tensor& parameter, std::int64_t i) { return parameter.grad().flatten()[i].item<double>(); }

TEST(ClipJointNorm, ScalesAllGradientsAlike) {
  const std::vector<Tensor> both = {parameter({0}, {3}, {1}), parameter({0}, {4}, {1})};
  clip_joint_norm(both, 10);
  EXPECT_DOUBLE_EQ(gradient_at(both[0], 0), 3);
  clip_joint_norm(both, 1);
  EXPECT_NEAR(gradient_at(both[0], 0), 3 / (5 + 1e-6), 1e-15);
  EXPECT_NEAR(gradient_at(both[1], 0), 4 / (5 + 1e-6), 1e-15);
}

TEST(ClipEachNorm, ScalesEveryTensorByItself) {
  const std::vector<Tensor> both = {parameter({0, 0}, {3, 4}, {2}), parameter({0}, {0.5}, {1})};
  clip_each_norm(both, 2);
  EXPECT_NEAR(gradient_at(both[0], 0), 3 * 2 / (5 + 1e-6), 1e-15);
  EXPECT_NEAR(gradient_at(both[0], 1), 4 * 2 / (5 + 1e-6), 1e-15);
  EXPECT_DOUBLE_EQ(gradient_at(both[1], 0), 0.5);
}

TEST(ClipUnits, LimitsEveryRowToAShareOfItsWeights) {
  const std::vector<double> w{3, 4, 0, 0, 1, 0}, g{0.3, 0.4, 0.003, 0.004, 0.001, 0};
  const Tensor matrix = parameter(w, g, {3, 2}), vector = parameter({0.6, 0.8}, {3, 4}, {2});
  const std::vector<Tensor> both = {matrix, vector};
  clip_units(both, 0.01);
  for (std::size_t row = 0; row < 3; ++row) {
    const double weights = std::hypot(w[2 * row], w[2 * row + 1]), gradient = std::hypot(g[2 * row], g[2 * row + 1]);
    const double most = 0.01 * std::max(weights, 1e-3);
    const double factor = gradient < most ? 1 : most / std::max(gradient, 1e-6);
    for (std::size_t i = 2 * row; i < 2 * row + 2; ++i)
      EXPECT_NEAR(gradient_at(matrix, static_cast<std::int64_t>(i)), g[i] * factor, 1e-15) << i;
  }
  EXPECT_NEAR(gradient_at(vector, 0), 3 * 0.01 / 5, 1e-15) << "a vector is one unit";
}

TEST(Clipping, PassesOverWhatHasNoGradient) {
  const std::vector<Tensor> one = {at::ones({2}).set_requires_grad(true)};
  clip_joint_norm(one, 1);
  clip_each_norm(one, 1);
  clip_units(one, 1);
  EXPECT_FALSE(one[0].grad().defined());
}

}  // namespace
}  // namespace locus::engine

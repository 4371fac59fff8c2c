// Pairs of channels that are turned row by row are those of the formula, in value and gradient.
#include "engine/fused/rotation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace locus::engine::fused {
namespace {

struct TurnCase {
  std::int64_t samples, heads, tokens, width, angle_samples, angle_heads;
};
// Pairs that fill vectors and that do not, runs of tokens that end early, angles of their own and shared ones.
constexpr TurnCase kTurns[] = {{3, 2, 70, 64, 1, 2}, {2, 3, 5, 6, 2, 3}, {1, 1, 1, 2, 1, 1}, {2, 4, 129, 20, 1, 1}};

// (x_a cos t - x_b sin t, x_a sin t + x_b cos t)
Tensor by_formula(const Tensor& x, const Tensor& angles, bool neighbors) {
  const Tensor pairs = neighbors ? x.unflatten(3, {-1, 2}) : x.unflatten(3, {2, -1}).transpose(3, 4);
  const Tensor a = pairs.select(4, 0), b = pairs.select(4, 1), cos = angles.cos(), sin = angles.sin();
  const Tensor out = at::stack({a * cos - b * sin, a * sin + b * cos}, 4);
  return (neighbors ? out : out.transpose(3, 4)).flatten(3);
}

PairTurns turns_of(const Tensor& angles, bool neighbors) {
  const auto channels = [&](const Tensor& first, const Tensor& second) {
    return neighbors ? at::stack({first, second}, -1).flatten(-2) : at::cat({first, second}, -1);
  };
  return {channels(angles.cos(), angles.cos()), channels(-angles.sin(), angles.sin()), neighbors};
}

struct Turned {
  Tensor y, x, angles;
};

Turned expected_of(const Tensor& x, const Tensor& angles, const Tensor& dy, bool neighbors) {
  const Tensor leaf = x.detach().to(at::kDouble).requires_grad_(),
               angle = angles.detach().to(at::kDouble).requires_grad_();
  const Tensor y = by_formula(leaf, angle, neighbors);
  (y * dy.to(at::kDouble)).sum().backward();
  return {y.detach(), leaf.grad(), angle.grad()};
}

void expect_turned(const Tensor& found, const Tensor& expected, double within, const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  EXPECT_LT((found.to(at::kDouble) - expected).abs().max().item<double>(),
            within * (1 + expected.abs().max().item<double>()))
      << what;
}

TEST(Rotation, OfRowsIsThatOfTheirPairsInValueAndGradient) {
  const std::pair<at::ScalarType, double> types[] = {{at::kDouble, 1e-14}, {at::kFloat, 2e-6}, {at::kBFloat16, 1e-2}};
  for (const auto& [type, within] : types) {
    for (const TurnCase& c : kTurns) {
      for (const bool neighbors : {true, false}) {
        at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(c.width));
        // Rows apart, as tokens of several heads lie.
        const auto draw = [&] {
          return at::randn({c.samples, c.tokens, c.heads, c.width}, generator, at::kDouble).to(type).transpose(1, 2);
        };
        const Tensor x = draw(), dy = draw();
        const Tensor angles = at::randn({c.angle_samples, c.angle_heads, c.tokens, c.width / 2}, generator, at::kDouble)
                                  .to(type == at::kDouble ? at::kDouble : at::kFloat);
        const PairTurns turns = turns_of(angles, neighbors);
        const std::string what = std::string(at::toString(type)) + ", width " + std::to_string(c.width);
        ASSERT_TRUE(turns_rows(x, turns)) << what;
        const Turned expected = expected_of(x, angles, dy, neighbors);
        expect_turned(turn_rows(x, turns), expected.y, within, what);
        const TurnGradients found = turn_rows_back(dy, x, turns), without = turn_rows_back(dy, {}, turns);
        expect_turned(found.x, expected.x, within, what);
        expect_turned(at::sum_to(found.angles, angles.sizes()), expected.angles, within, what);
        EXPECT_TRUE(at::equal(without.x, found.x) && !without.angles.defined()) << what;
      }
    }
  }
}

}  // namespace
}  // namespace locus::engine::fused

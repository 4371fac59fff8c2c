// Every fused pass is the graph of single operations that it stands for, in value and gradient.
#include "engine/fused/branch.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "engine/base/precision.h"

namespace locus::engine::fused {
namespace {

// Widths of heads, tokens and MLPs that fill vectors and that do not.
struct Shape {
  std::int64_t samples, tokens, heads, width, hidden;
  std::int64_t dim() const { return heads * width; }
};
constexpr Shape kShapes[] = {{2, 5, 3, 7, 19}, {3, 49, 4, 16, 64}, {40, 9, 2, 8, 33}, {1, 2, 1, 3, 1}};

class Draws {
 public:
  Draws(at::ScalarType type) : type_(type) {}
  Tensor operator()(at::IntArrayRef sizes, double deviation = 1, double mean = 0) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed_++);
    return (at::randn(sizes, generator, at::kDouble) * deviation + mean).to(type_).requires_grad_();
  }

 private:
  at::ScalarType type_;
  std::uint64_t seed_ = 1;
};

using Inputs = std::vector<Tensor>;
using Pass = std::function<std::vector<Tensor>(const Inputs&)>;

struct Results {
  std::vector<Tensor> values, gradients;
};

// Of a random functional of everything that the pass gives.
Results run(const Pass& pass, const Inputs& inputs) {
  Inputs leaves;
  for (const Tensor& input : inputs) {
    const bool learns = input.defined() && input.requires_grad();
    leaves.push_back(input.defined() ? input.detach().clone().requires_grad_(learns) : Tensor());
  }
  Results out{pass(leaves), {}};
  Draws draw(at::kDouble);
  Tensor sum;
  for (Tensor& value : out.values) {
    const Tensor part = (value * draw(value.sizes()).detach().to(value.scalar_type())).sum();
    sum = sum.defined() ? sum + part : part;
    value = value.detach();
  }
  sum.backward();
  for (const Tensor& leaf : leaves) out.gradients.push_back(leaf.defined() ? leaf.grad() : Tensor());
  return out;
}

void expect_near(const Tensor& found, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.defined(), expected.defined()) << what;
  if (!found.defined()) return;
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  EXPECT_EQ(found.scalar_type(), expected.scalar_type()) << what;
  const double scale = expected.to(at::kDouble).abs().max().item<double>() + 1e-3;
  EXPECT_LT((found.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>(), tolerance * scale) << what;
}

void expect_same(const Pass& fused, const Pass& plain, const Inputs& inputs, double tolerance) {
  const Results found = run(fused, inputs), expected = run(plain, inputs);
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (std::size_t i = 0; i < found.values.size(); ++i)
    expect_near(found.values[i], expected.values[i], tolerance, "value " + std::to_string(i));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expect_near(found.gradients[i], expected.gradients[i], tolerance, "gradient " + std::to_string(i));
}

constexpr double kEps = 1e-6;

Tensor normed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, kEps);
}

Tensor times(Tensor branch, const Tensor& channels, const Tensor& samples) {
  if (channels.defined()) branch = branch * channels;
  return samples.defined() ? branch * samples.view({-1, 1, 1}) : branch;
}

class EveryType : public testing::TestWithParam<at::ScalarType> {
 protected:
  at::ScalarType type() const { return GetParam(); }
  double tolerance() const { return type() == at::kDouble ? 1e-12 : 1e-4; }
};

TEST_P(EveryType, ForkedNormIsTheStreamAndItsLayerNorm) {
  for (const Shape& shape : kShapes) {
    Draws draw(type());
    const Inputs inputs = {draw({shape.samples, shape.tokens, shape.dim()}, 2, 0.5), draw({shape.dim()}, 0.5, 1),
                           draw({shape.dim()})};
    expect_same(
        [](const Inputs& in) {
          const Forked out = fork_norm(in[0], {in[1], in[2], kEps});
          return std::vector{out.stream, out.normed};
        },
        [](const Inputs& in) {
          return std::vector{in[0] * 1, normed(in[0], in[1], in[2])};
        },
        inputs, tolerance());
  }
}

TEST_P(EveryType, ForkedNormNeedsTheGradientOfEitherResultAlone) {
  Draws draw(type());
  const Inputs inputs = {draw({3, 4, 12}), draw({12}), draw({12})};
  expect_same(
      [](const Inputs& in) {
        return std::vector{fork_norm(in[0], {in[1], in[2], kEps}).normed};
      },
      [](const Inputs& in) { return std::vector{normed(in[0], in[1], in[2])}; }, inputs, tolerance());
  const Tensor x = inputs[0].detach().requires_grad_();
  (fork_norm(x, {inputs[1], inputs[2], kEps}).stream * 3).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::full_like(x, 3)));
}

TEST_P(EveryType, ProjectedHeadsAreALinearMapSplitIntoHeads) {
  for (const Shape& shape : kShapes) {
    for (const bool with_bias : {true, false}) {
      Draws draw(type());
      const std::int64_t dim = shape.dim();
      const Inputs inputs = {draw({shape.samples, shape.tokens, dim}), draw({3 * dim, dim}, 0.2),
                             with_bias ? draw({3 * dim}) : Tensor()};
      expect_same(
          [&](const Inputs& in) {
            return project_heads(in[0], {in[1], in[2]}, shape.heads);
          },
          [&](const Inputs& in) {
            return at::linear(in[0], in[1], in[2])
                .view({shape.samples, shape.tokens, 3, shape.heads, shape.width})
                .permute({2, 0, 3, 1, 4})
                .unbind(0);
          },
          inputs, tolerance());
    }
  }
}

TEST_P(EveryType, ProjectedHeadsTakeGradientsOfAnyLayoutAndOfSomeAlone) {
  Draws draw(type());
  const Inputs inputs = {draw({2, 6, 8}), draw({24, 8}), draw({24})};
  const auto turned = [](const std::vector<Tensor>& heads) {
    return std::vector{heads[0].transpose(2, 3).contiguous(), heads[2].transpose(1, 2).contiguous()};
  };
  expect_same(
      [&](const Inputs& in) {
        return turned(project_heads(in[0], {in[1], in[2]}, 2));
      },
      [&](const Inputs& in) {
        return turned(at::linear(in[0], in[1], in[2]).view({2, 6, 3, 2, 4}).permute({2, 0, 3, 1, 4}).unbind(0));
      },
      inputs, tolerance());
}

// What multiplies a branch: nothing, channels, samples, or both.
std::vector<std::pair<Tensor, Tensor>> factors_of(const Shape& shape, Draws& draw) {
  const Tensor samples = draw({shape.samples}).detach();
  return {{Tensor(), Tensor()}, {draw({shape.dim()}), Tensor()}, {Tensor(), samples}, {draw({shape.dim()}), samples}};
}

TEST_P(EveryType, AddedProjectionIsALinearMapAddedToTheStream) {
  for (const Shape& shape : kShapes) {
    Draws draw(type());
    for (const auto& [channels, samples] : factors_of(shape, draw)) {
      const Inputs inputs = {draw({shape.samples, shape.tokens, shape.dim()}),
                             draw({shape.samples, shape.tokens, shape.hidden}),
                             draw({shape.dim(), shape.hidden}, 0.2),
                             draw({shape.dim()}),
                             channels,
                             samples};
      expect_same(
          [](const Inputs& in) {
            return std::vector{add_projected(in[0], in[1], {in[2], in[3]}, {in[4], in[5]})};
          },
          [](const Inputs& in) { return std::vector{in[0] + times(at::linear(in[1], in[2], in[3]), in[4], in[5])}; },
          inputs, tolerance());
    }
  }
}

Inputs mlp_inputs(const Shape& shape, Draws& draw, const Tensor& channels, const Tensor& samples) {
  const std::int64_t dim = shape.dim();
  return {draw({shape.samples, shape.tokens, dim}, 2, 0.5),
          draw({dim}, 0.5, 1),
          draw({dim}),
          draw({shape.hidden, dim}, 0.5),
          draw({shape.hidden}),
          draw({dim, shape.hidden}, 0.5),
          draw({dim}),
          channels,
          samples};
}
std::vector<Tensor> fused_mlp(const Inputs& in) {
  return {add_mlp(in[0], {in[1], in[2], kEps}, {in[3], in[4]}, {in[5], in[6]}, {in[7], in[8]})};
}
std::vector<Tensor> plain_mlp(const Inputs& in) {
  const Tensor hidden = at::gelu(at::linear(normed(in[0], in[1], in[2]), in[3], in[4]));
  return {in[0] + times(at::linear(hidden, in[5], in[6]), in[7], in[8])};
}

TEST_P(EveryType, AddedMlpIsNormTwoLinearMapsAndGelu) {
  for (const Shape& shape : kShapes) {
    Draws draw(type());
    for (const auto& [channels, samples] : factors_of(shape, draw))
      expect_same(fused_mlp, plain_mlp, mlp_inputs(shape, draw, channels, samples), tolerance());
  }
}

TEST_P(EveryType, FrozenWeightsGetNoGradient) {
  Draws draw(type());
  Inputs inputs = mlp_inputs(kShapes[1], draw, {}, {});
  for (const std::size_t frozen : {1, 2, 3, 4, 5, 6}) inputs[frozen] = inputs[frozen].detach();
  expect_same(fused_mlp, plain_mlp, inputs, tolerance());
  Inputs heads = {draw({2, 6, 8}), draw({24, 8}).detach(), draw({24}).detach()};
  expect_same(
      [](const Inputs& in) {
        return project_heads(in[0], {in[1], in[2]}, 2);
      },
      [](const Inputs& in) {
        return at::linear(in[0], in[1], in[2]).view({2, 6, 3, 2, 4}).permute({2, 0, 3, 1, 4}).unbind(0);
      },
      heads, tolerance());
}

TEST_P(EveryType, SumsOverTokensDoNotDependOnThreads) {
  Draws draw(type());
  const Tensor x = draw({32, 49, 24}), weight = draw({24}), bias = draw({24}), of = draw({32, 49, 24}).detach();
  std::vector<Tensor> found;
  const int before = at::get_num_threads();
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    for (const Tensor& each : {x, weight, bias}) each.mutable_grad().reset();
    (fork_norm(x, {weight, bias, kEps}).normed * of).sum().backward();
    found.push_back(at::cat({weight.grad(), bias.grad(), x.grad().flatten()}));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(found[0], found[1]));
  EXPECT_TRUE(at::equal(found[0], found[2]));
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& test) { return c10::toString(test.param); });

// |found - expected| as a share of |expected|.
double apart(const Tensor& found, const Tensor& expected) {
  return ((found - expected).norm() / (expected.norm() + 1e-6)).item<double>();
}

TEST(MixedPrecision, RoundsOperandsAloneAndGivesGradientsOfParametersInFloat32) {
  const Shape shape{4, 49, 4, 16, 256};
  Draws draw(at::kFloat);
  const Inputs inputs = mlp_inputs(shape, draw, draw({shape.dim()}), draw({shape.samples}).detach());
  const Pass rounded = [](const Inputs& in) {
    const Autocast cast(Precision::kBfloat16, at::kCPU);
    EXPECT_TRUE(fits(in[0]));
    return fused_mlp(in);
  };
  const Results found = run(rounded, inputs), exact = run(plain_mlp, inputs);
  EXPECT_LT(apart(found.values[0], exact.values[0]), 0.01);
  EXPECT_GT(apart(found.values[0], exact.values[0]), 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!exact.gradients[i].defined()) continue;
    EXPECT_EQ(found.gradients[i].scalar_type(), at::kFloat);
    EXPECT_LT(apart(found.gradients[i], exact.gradients[i]), 0.02) << i;
  }
}

TEST(MixedPrecision, GivesHeadsInBfloat16) {
  Draws draw(at::kFloat);
  const Inputs inputs = {draw({3, 20, 32}), draw({96, 32}, 0.2), draw({96})};
  const Autocast cast(Precision::kBfloat16, at::kCPU);
  for (const Tensor& part : project_heads(inputs[0], {inputs[1], inputs[2]}, 4))
    EXPECT_EQ(part.scalar_type(), at::kBFloat16);
}

TEST(Fits, SaysWhichTokensMayBeFused) {
  const Tensor x = at::zeros({2, 3, 4});
  EXPECT_TRUE(fits(x));
  EXPECT_TRUE(fits(x.to(at::kDouble)));
  EXPECT_FALSE(fits(x.to(at::kBFloat16)));
  EXPECT_FALSE(fits(x.transpose(1, 2)));
  const Autocast cast(Precision::kFloat16, at::kCPU);
  EXPECT_FALSE(fits(x));
}

}  // namespace
}  // namespace locus::engine::fused

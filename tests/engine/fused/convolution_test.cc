// The convolution of tokens is that of the image they lie on.
#include "engine/fused/convolution.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/conv2d.h>
#include <gtest/gtest.h>

namespace locus::engine::fused {
namespace {

struct ConvolutionCase {
  std::int64_t samples, channels, side;
  ConvolvedGrid grid;
};
// Channels that fill vectors and blocks and that do not; kernels wider than the grid.
constexpr ConvolutionCase kConvolutions[] = {{3, 5, 3, {1, 4, 6}},
                                             {2, 64, 5, {0, 7, 7}},
                                             {18, 16, 1, {2, 2, 3}},
                                             {1, 300, 3, {0, 3, 1}},
                                             {2, 8, 7, {1, 3, 2}},
                                             {1, 33, 5, {1, 2, 1}},
                                             {2, 6, 3, {2, 3, 3, /*keeps_prefix=*/true}}};

Tensor by_image(const Tensor& tokens, const Tensor& weight, const Tensor& bias, const ConvolvedGrid& grid) {
  const std::int64_t channels = tokens.size(2), half = weight.size(2) / 2;
  const Tensor image = tokens.slice(1, grid.prefix).transpose(1, 2).reshape({-1, channels, grid.rows, grid.columns});
  const std::vector<std::int64_t> one = {1, 1}, padding = {half, half};
  const Tensor out = at::conv2d(image, weight, bias, one, padding, one, channels).flatten(2).transpose(1, 2);
  if (grid.keeps_prefix) return at::cat({tokens.slice(1, 0, grid.prefix), out}, 1);
  return at::constant_pad_nd(out, {0, 0, grid.prefix, 0});
}

TEST(Convolution, OfTokensIsThatOfTheirImageInValueAndGradient) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (const ConvolutionCase& c : kConvolutions) {
      for (const bool with_bias : {true, false}) {
        at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(c.channels));
        const auto draw = [&](at::IntArrayRef sizes) {
          return at::randn(sizes, generator, at::kDouble).to(type).requires_grad_();
        };
        const std::int64_t tokens = c.grid.prefix + c.grid.rows * c.grid.columns;
        const Tensor x = draw({c.samples, tokens, c.channels}), weight = draw({c.channels, 1, c.side, c.side}),
                     bias = with_bias ? draw({c.channels}) : Tensor(), by = draw(x.sizes()).detach();
        const auto results = [&](const auto& convolve) {
          for (const Tensor& leaf : {x, weight, bias}) {
            if (leaf.defined()) leaf.mutable_grad().reset();
          }
          const Tensor out = convolve(x, weight, bias, c.grid);
          (out * by).sum().backward();
          std::vector<Tensor> all = {out.detach(), x.grad(), weight.grad()};
          if (with_bias) all.push_back(bias.grad());
          return all;
        };
        const auto expected = results(by_image), found = results(convolve_tokens);
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(found[i].sizes(), expected[i].sizes());
          const double scale = 1 + expected[i].abs().max().item<double>();
          EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), (type == at::kDouble ? 1e-13 : 1e-5) * scale)
              << "result " << i << ", " << c.channels << " channels, side " << c.side << ", " << type;
        }
      }
    }
  }
}

}  // namespace
}  // namespace locus::engine::fused

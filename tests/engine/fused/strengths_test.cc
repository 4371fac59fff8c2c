// Sums by strengths are those of the single operations, in value and gradient.
#include "engine/fused/strengths.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

namespace locus::engine::fused {
namespace {

TEST(Strengths, AreSummedAsBySingleOperationsInValueAndGradient) {
  struct Sizes {
    std::int64_t samples, tokens, width, strengths, columns;
  };
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (const Sizes& c : {Sizes{2, 70, 12, 7, 5}, Sizes{1, 3, 32, 64, 20}, Sizes{9, 130, 16, 50, 1}}) {
      for (const bool with_more : {true, false}) {
        at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(c.strengths));
        const auto draw = [&](at::IntArrayRef sizes, double scale) {
          return (at::randn(sizes, generator, at::kDouble) * scale).to(type).requires_grad_();
        };
        // Some strengths lie beyond where softplus is straight, on both sides.
        const Tensor x = draw({c.samples, c.tokens, c.width}, 1), strengths = draw({c.strengths, c.width}, 4),
                     columns = draw({c.strengths, c.columns}, 1),
                     more = with_more ? draw({c.columns, c.width}, 1) : Tensor(),
                     by = draw({c.samples, c.tokens, c.columns}, 1).detach();
        const auto results = [&](const auto& sum) {
          for (const Tensor& leaf : {x, strengths, columns, more}) {
            if (leaf.defined()) leaf.mutable_grad().reset();
          }
          const Tensor out = sum();
          (out * by).sum().backward();
          std::vector<Tensor> all = {out.detach(), x.grad(), strengths.grad(), columns.grad()};
          if (with_more) all.push_back(more.grad());
          return all;
        };
        const auto expected = results([&] {
          const Tensor sum = at::matmul(at::softplus(at::linear(x, strengths)), columns);
          return with_more ? sum + at::linear(x, more) : sum;
        });
        const auto found = results([&] { return sum_by_strengths(x, strengths, columns, more); });
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(found[i].sizes(), expected[i].sizes());
          const double scale = 1 + expected[i].abs().max().item<double>();
          EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), (type == at::kDouble ? 1e-13 : 3e-6) * scale)
              << "result " << i << ", " << c.strengths << " strengths, " << type;
        }
      }
    }
  }
}

}  // namespace
}  // namespace locus::engine::fused

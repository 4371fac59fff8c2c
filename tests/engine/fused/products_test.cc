// Products of bfloat16 are those of float64 up to the rounding of float32 sums, on whatever processor this is.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "engine/fused/operands.h"

namespace locus::engine::fused {
namespace {

// C [rows, columns], summed over `depth`.
struct ProductSizes {
  std::int64_t rows, columns, depth;
};
// Of no whole pair, vector or panel; of several groups of rows and chunks of the depth.
constexpr ProductSizes kProducts[] = {{1, 1, 1},     {5, 33, 3},     {37, 19, 64},
                                      {15, 32, 130}, {230, 70, 515}, {448, 96, 1026}};
constexpr Turn kTurns[] = {Turn::kNone, Turn::kFirst, Turn::kSecond};

struct Operands {
  Tensor a, b;  // as the product takes them
  Tensor exact, magnitude;
};

Operands operands_of(const ProductSizes& size, Turn turn) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(size.depth));
  const Tensor a = at::randn({size.rows, size.depth}, generator, at::kDouble).to(at::kBFloat16),
               b = at::randn({size.depth, size.columns}, generator, at::kDouble).to(at::kBFloat16);
  const Tensor wide_a = a.to(at::kDouble), wide_b = b.to(at::kDouble);
  return {turn == Turn::kFirst ? a.t().contiguous() : a, turn == Turn::kSecond ? b.t().contiguous() : b,
          at::mm(wide_a, wide_b), at::mm(wide_a.abs(), wide_b.abs())};
}

TEST(Products, OfBfloat16AreSummedInFloat32) {
  for (const ProductSizes& size : kProducts) {
    for (const Turn turn : kTurns) {
      const Operands of = operands_of(size, turn);
      const Tensor found = product(of.a, of.b, turn);
      ASSERT_EQ(found.scalar_type(), at::kFloat);
      ASSERT_EQ(found.sizes(), of.exact.sizes());
      const Tensor error = (found.to(at::kDouble) - of.exact).abs() / of.magnitude;
      EXPECT_LT(error.max().item<double>(), 2e-6)
          << size.rows << " x " << size.depth << " x " << size.columns << ", turn " << static_cast<int>(turn);
    }
  }
}

TEST(Products, OfBfloat16HaveTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const Turn turn : kTurns) {
    const Operands of = operands_of(kProducts[5], turn);
    at::set_num_threads(1);
    const Tensor one = product(of.a, of.b, turn);
    at::set_num_threads(3);
    EXPECT_TRUE(at::equal(one, product(of.a, of.b, turn))) << static_cast<int>(turn);
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace locus::engine::fused

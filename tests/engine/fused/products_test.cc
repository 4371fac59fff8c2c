// Products of float32 and bfloat16 are those of float64 up to the rounding of float32 sums, on whatever processor this is, and
// have the same bits however they are divided.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/fused/operands.h"

namespace locus::engine::fused {
namespace {

// Of a sum, beside that of the magnitudes of what is summed.
constexpr double kRounding = 2e-6;

Tensor noise(std::int64_t rows, std::int64_t columns, std::uint64_t seed, at::ScalarType type) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::randn({rows, columns}, generator, at::kDouble).to(type);
}

// How far the product of two matrices, the first [rows, depth], is from that of float64.
double error_of(const Tensor& found, const Tensor& a, const Tensor& b) {
  const Tensor wide_a = a.to(at::kDouble), wide_b = b.to(at::kDouble);
  const Tensor error = (found.to(at::kDouble) - at::mm(wide_a, wide_b)).abs() / at::mm(wide_a.abs(), wide_b.abs());
  return error.max().item<double>();
}

class OfType : public testing::TestWithParam<at::ScalarType> {};
class OuterSums : public OfType {};
class Maps : public OfType {};

// Rows that are summed over, and the two widths: of no whole pair, tile or panel; few and many panels; several chunks, halves
// of the rows or none.
struct OuterSizes {
  std::int64_t rows, a, b;
};
constexpr OuterSizes kOuterSums[] = {{1, 1, 1},      {3, 17, 5},      {129, 29, 33},   {515, 64, 7},
                                     {700, 230, 16}, {1568, 64, 256}, {2051, 61, 141}, {1100, 600, 160}};

TEST_P(OuterSums, AreSummedInFloat32AlikeByAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const OuterSizes& size : kOuterSums) {
    const Tensor a = noise(size.rows, size.a, 1, GetParam()), b = noise(size.rows, size.b, 2, GetParam());
    at::set_num_threads(1);
    const Tensor one = outer_sum(a, b);
    ASSERT_EQ(one.scalar_type(), at::kFloat);
    EXPECT_LT(error_of(one, a.t(), b), kRounding) << size.rows << " rows of " << size.a << " and " << size.b;
    for (const int threads : {2, 3, 5}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(at::equal(one, outer_sum(a, b))) << size.rows << " rows, " << threads << " threads";
    }
  }
  at::set_num_threads(before);
}

// Rows by W [in, out], or by its transpose given turned, some rows at once.
template <typename S>
Tensor mapped(const Tensor& x, const Tensor& weight, Turn turn, std::int64_t at_once) {
  const Map<float, S> map(weight, turn);
  const std::int64_t count = x.size(0), in = x.size(1), out = weight.size(turn == Turn::kNone ? 1 : 0);
  Tensor y = at::full({count, out}, std::nan(""), at::kFloat);
  for (std::int64_t first = 0; first < count; first += at_once)
    map.multiply(x.const_data_ptr<S>() + first * in, std::min(at_once, count - first),
                 y.mutable_data_ptr<float>() + first * out);
  return y;
}
Tensor mapped(const Tensor& x, const Tensor& weight, Turn turn, std::int64_t at_once) {
  return x.scalar_type() == at::kFloat ? mapped<float>(x, weight, turn, at_once)
                                       : mapped<c10::BFloat16>(x, weight, turn, at_once);
}

// Of rows that lie a power of two apart, and others; of one, no whole and several chunks of the depth and groups of rows.
struct MapSizes {
  std::int64_t rows, columns, depth;
};
constexpr MapSizes kMaps[] = {{1, 1, 1},      {5, 33, 3},    {15, 192, 64},  {37, 19, 64},   {15, 32, 130},
                              {230, 70, 512}, {31, 16, 515}, {230, 70, 515}, {448, 96, 1024}};

TEST_P(Maps, AreSummedInFloat32AlikeHoweverRowsAreDivided) {
  for (const MapSizes& size : kMaps) {
    const Tensor x = noise(size.rows, size.depth, 3, GetParam()), w = noise(size.depth, size.columns, 4, GetParam());
    for (const Turn turn : {Turn::kNone, Turn::kTurned}) {
      const Tensor weight = turn == Turn::kNone ? w : w.t().contiguous();
      const Tensor found = mapped(x, weight, turn, size.rows);
      EXPECT_LT(error_of(found, x, w), kRounding)
          << size.rows << " x " << size.depth << " x " << size.columns << ", turn " << static_cast<int>(turn);
      EXPECT_TRUE(at::equal(found, mapped(x, weight, turn, 13))) << "divided otherwise, depth " << size.depth;
    }
  }
}

const auto kTypes = testing::Values(at::kFloat, at::kBFloat16);
const auto kTypeName = [](const testing::TestParamInfo<at::ScalarType>& info) {
  return std::string(info.param == at::kFloat ? "float32" : "bfloat16");
};
INSTANTIATE_TEST_SUITE_P(Of, OuterSums, kTypes, kTypeName);
INSTANTIATE_TEST_SUITE_P(Of, Maps, kTypes, kTypeName);

}  // namespace
}  // namespace locus::engine::fused

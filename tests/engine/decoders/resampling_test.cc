// Interpolation and pooling as products of matrices.
#include "engine/layers/resampling.h"

#include <gtest/gtest.h>

#include "engine/base/random.h"

namespace locus::engine {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> cells_of(std::int64_t from, std::int64_t to) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  const Tensor matrix = pooling_matrix(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const Tensor used = matrix[i].nonzero();
    out.emplace_back(used.min().item<std::int64_t>(), used.max().item<std::int64_t>());
  }
  return out;
}

TEST(Resampling, PoolsCellsThatOverlapWhereTheyDoNotDivide) {
  using Cells = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(cells_of(7, 3), (Cells{{0, 2}, {2, 4}, {4, 6}}));
  EXPECT_EQ(cells_of(5, 6), (Cells{{0, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 4}}));
}

TEST(Resampling, WeightsOfAPlaceAddUpToOne) {
  for (const std::int64_t from : {1, 2, 5, 14}) {
    for (const std::int64_t to : {1, 3, 14, 33}) {
      for (const Alignment alignment : {Alignment::kHalfPixel, Alignment::kCorners})
        EXPECT_LT((interpolation_matrix(from, to, alignment).sum(1) - 1).abs().max().item<double>(), 1e-15);
      EXPECT_LT((pooling_matrix(from, to).sum(1) - 1).abs().max().item<double>(), 1e-15);
    }
  }
}

TEST(Resampling, KeepsCornersWhereTheyShallStay) {
  const Tensor x = RandomStreams(1).normal("test", "x", 0, {1, 1, 3, 4}).to(at::kDouble);
  const Tensor y = interpolated(x, {7, 9}, Alignment::kCorners);
  EXPECT_DOUBLE_EQ(y[0][0][0][0].item<double>(), x[0][0][0][0].item<double>());
  EXPECT_DOUBLE_EQ(y[0][0][6][8].item<double>(), x[0][0][2][3].item<double>());
  EXPECT_TRUE(at::equal(interpolated(x, {3, 4}, Alignment::kHalfPixel), x));
}

TEST(Resampling, TakesRowsAloneAndGivesTheirGradientBack) {
  const Tensor x = RandomStreams(1).normal("test", "x", 0, {2, 3, 4, 5}).to(at::kDouble).set_requires_grad(true);
  const MapExtent to{9, 7};
  const Tensor whole = interpolated(x, to, Alignment::kHalfPixel);
  const Tensor by = RandomStreams(1).normal("test", "by", 0, {2, 3, 9, 7}).to(at::kDouble);
  (whole * by).sum().backward();
  Tensor gradient = at::zeros_like(x);
  for (const auto& [first, end] : {std::pair{0, 4}, {4, 5}, {5, 9}}) {
    EXPECT_LT((interpolated_rows(x.detach(), to, Alignment::kHalfPixel, first, end) - whole.slice(2, first, end))
                  .abs()
                  .max()
                  .item<double>(),
              1e-14);
    gradient =
        gradient + interpolated_rows_back(by.slice(2, first, end), {4, 5}, to, Alignment::kHalfPixel, first, end);
  }
  EXPECT_LT((gradient - x.grad()).abs().max().item<double>(), 1e-13);
}

TEST(Resampling, RefusesMapsWithoutAPlace) {
  EXPECT_THROW(interpolation_matrix(0, 3, Alignment::kHalfPixel), std::invalid_argument);
  EXPECT_THROW(pooling_matrix(3, 0), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine

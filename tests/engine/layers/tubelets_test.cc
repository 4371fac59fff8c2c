// Tubelets against the convolution that they stand for.
#include "engine/layers/tubelets.h"

#include <ATen/ops/conv3d.h>
#include <gtest/gtest.h>

namespace locus::engine {
namespace {

TEST(Tubelets, AreWhatAConvolutionAsWideAsItsStrideMaps) {
  const Tensor video = at::randn({2, 3, 4, 6, 9}, at::kDouble), weight = at::randn({5, 3, 2, 2, 3}, at::kDouble),
               bias = at::randn({5}, at::kDouble);
  const Tensor convolved = at::conv3d(video, weight, bias, /*stride=*/{2, 2, 3});  // [B, D, T, H, W]
  const Tensor mapped = at::linear(tubelets_of(video, {2, 2, 3}), weight.flatten(1), bias);
  EXPECT_LT((mapped - convolved.flatten(2).transpose(1, 2)).abs().max().item<double>(), 1e-12);
}

TEST(Tubelets, LieInRasterOrderOfFramesRowsAndColumns) {
  const Layout layout = tubelet_layout({4, 6, 9}, {2, 2, 3}, 1);
  EXPECT_EQ(layout, (Layout{{2, 3, 3}, 1}));
  const Tensor video = at::arange(4 * 6 * 9, at::kFloat).view({1, 1, 4, 6, 9});
  const Tensor rows = tubelets_of(video, {2, 2, 3});
  ASSERT_EQ(rows.sizes(), (at::IntArrayRef{1, 18, 12}));
  const Tensor corner = grid_positions(layout, at::kLong)[16] * at::tensor({2, 2, 3}, at::kLong);  // (1, 2, 1)
  EXPECT_TRUE(at::equal(corner, at::tensor({2, 4, 3}, at::kLong)));
  EXPECT_EQ(rows[0][16][0].item<float>(), video[0][0][2][4][3].item<float>());
  EXPECT_EQ(rows[0][16][11].item<float>(), video[0][0][3][5][5].item<float>()) << "frames, then rows, then columns";
}

TEST(Tubelets, LetGradientsThrough) {
  const Tensor video = at::randn({1, 2, 2, 2, 2}, at::kDouble).requires_grad_();
  tubelets_of(video, {1, 2, 2}).sum().backward();
  EXPECT_TRUE(at::equal(video.grad(), at::ones_like(video)));
}

TEST(Tubelets, RefuseVideosTheyDoNotTile) {
  EXPECT_THROW(tubelets_of(at::zeros({1, 3, 5, 4, 4}), {2, 2, 2}), std::invalid_argument);
  EXPECT_THROW(tubelets_of(at::zeros({1, 3, 4, 4, 5}), {2, 2, 2}), std::invalid_argument);
  EXPECT_THROW(tubelets_of(at::zeros({3, 4, 4, 4}), {2, 2, 2}), std::invalid_argument);
  EXPECT_THROW(tubelet_layout({4, 4}, {2, 2, 2}, 0), std::invalid_argument);
  EXPECT_THROW(tubelet_layout({4, 4, 4}, {2, 0, 2}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine

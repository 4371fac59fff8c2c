// Samples whose pixels say where they are.
#pragma once

#include <gtest/gtest.h>

#include "engine/data/joint.h"

namespace locus::engine::test {

// Red is the column, green the row, blue 0; the mask the column, depth the row plus 1. Sides below 250.
inline Sample painted(const ImageSize& size) {
  const Tensor rows = at::arange(size.height, at::kFloat).view({-1, 1}).expand({size.height, size.width});
  const Tensor columns = at::arange(size.width, at::kFloat).view({1, -1}).expand({size.height, size.width});
  return {{kImage, at::stack({columns, rows, at::zeros_like(rows)}).to(at::kByte)},
          {kMask, columns.to(at::kByte).contiguous()},
          {kDepth, (rows + 1).contiguous()}};
}

// That image, mask and depth show the same place at each pixel but those without a label: within a pixel of the source, and
// what resizing by `ratio` puts between pixels. Images of bytes, or float ones of 0..255.
inline void expect_aligned(const Sample& sample, double ratio) {
  const Tensor image = sample.at(kImage).to(at::kFloat), mask = sample.at(kMask), depth = sample.at(kDepth);
  const Tensor labeled = mask != static_cast<int>(kIgnored);
  ASSERT_EQ(image[0].sizes(), mask.sizes());
  ASSERT_EQ(image[0].sizes(), depth.sizes());
  const double most = 1.5 + 0.5 / ratio;
  const auto farthest = [&](const Tensor& one, const Tensor& other) {
    return (one - other).abs().masked_select(labeled).max().item<double>();
  };
  EXPECT_LE(farthest(image[0], mask.to(at::kFloat)), most);
  EXPECT_LE(farthest(image[1], depth - 1), most);
}

}  // namespace locus::engine::test

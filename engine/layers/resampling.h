// Enlarging, shrinking and pooling of maps as two small products of matrices, one for each axis. Their gradients are products,
// too, so that they are the same on every run on any device, and exact in float64.
#pragma once

#include <array>

#include "engine/base/torch.h"

namespace locus::engine {

using MapExtent = std::array<std::int64_t, 2>;  // rows, columns

// Where the places of the result lie among those of the source, n of m along an axis:
//   kHalfPixel   place i at (i + 1/2) m / n - 1/2, cut to 0 .. m - 1
//   kCorners     place i at i (m - 1) / (n - 1), so that the corners stay where they are; one place at 0
enum class Alignment { kHalfPixel, kCorners };

// [to, from] in float64: the weights of bilinear interpolation along one axis, each row two neighbors at most. No
// antialiasing. Throws std::invalid_argument unless both are positive.
Tensor interpolation_matrix(std::int64_t from, std::int64_t to, Alignment alignment);
// [to, from] in float64: adaptive average pooling, cell i being the mean of places floor(i from / to) up to, exclusively,
// ceil((i + 1) from / to). Throws as above.
Tensor pooling_matrix(std::int64_t from, std::int64_t to);

// Maps [..., rows, columns] at another extent, in float32 at least whatever autocast says; as they are where nothing changes.
// The matrices of the last extents are kept, for each thread.
Tensor interpolated(const Tensor& maps, const MapExtent& to, Alignment alignment);
// Rows [first, end) alone of what interpolated() gives at `to`.
Tensor interpolated_rows(const Tensor& maps, const MapExtent& to, Alignment alignment, std::int64_t first,
                         std::int64_t end);
// The sum over rows [first, end) of `to` that gives the gradient of the source: interpolated_rows() transposed.
Tensor interpolated_rows_back(const Tensor& gradient, const MapExtent& from, const MapExtent& to, Alignment alignment,
                              std::int64_t first, std::int64_t end);
// Adaptive average pooling to cells x cells.
Tensor pooled_cells(const Tensor& maps, std::int64_t cells);

}  // namespace locus::engine

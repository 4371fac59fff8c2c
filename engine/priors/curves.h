// Space-filling curves over rectangles and boxes, as the rank each cell has along the curve.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace locus::engine {

// snake, hilbert, peano and zigzag, each followed by its transpose ("snake-transposed").
const std::vector<std::string>& curve_names();

// Rank of every cell, row-major: a permutation of 0..rows*columns-1. Throws std::invalid_argument on an
// unknown name.
//
// - snake: row by row, even rows left to right, odd rows back.
// - hilbert: the Hilbert curve on squares of side 2^k, elsewhere its generalization, always starting along the
//   columns.
// - peano: Morton order (the Violin paper's name for it): bits of column and row interleaved, column lowest.
// - zigzag: anti-diagonals as in JPEG, even ones running up and right.
// - transposed: the curve of the transposed grid.
std::vector<std::int32_t> curve_ranks(std::string_view name, std::int64_t rows, std::int64_t columns);

// The same for a grid of rank 2 (rows, columns) or 3 (frames, rows, columns), last axis fastest; box_curves.h has the
// curves on boxes. Transposed: the curve of the box with rows and columns exchanged. One frame has the curve of its
// rectangle. Throws std::invalid_argument on an unknown name and on other ranks.
std::vector<std::int32_t> curve_ranks(std::string_view name, const std::vector<std::int64_t>& extent);

}  // namespace locus::engine

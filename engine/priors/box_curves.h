// Space-filling curves over boxes (frames, rows, columns): what curves.h has for rectangles, with time as the
// third axis.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace locus::engine {

// Frame, row, column; also used as a vector.
struct BoxCell {
  std::int64_t t, y, x;
};

// The cells of a box of at least two frames in the order of a base curve ("snake", "hilbert", "peano", "zigzag"); empty
// where no curve has that name. A box of one frame has the curve of its rectangle, which is not made here. The Violin
// paper (appendix D.2) names curves over (T, H, W) and gives none; these are the rectangles' with one axis more:
//
// - snake: frame by frame, odd frames backward; unit steps on every box.
// - peano: Morton order; bits of column, row and frame interleaved, column lowest.
// - zigzag: planes t + y + x = e ascending, frames ascending where e is even, else descending; in each frame the
//   anti-diagonal as on rectangles.
// - hilbert: the generalized Hilbert curve in three dimensions, starting along the columns; unit steps on boxes of even
//   sides, elsewhere some are longer.
std::vector<BoxCell> box_curve(std::string_view base, std::int64_t frames, std::int64_t rows, std::int64_t columns);

}  // namespace locus::engine

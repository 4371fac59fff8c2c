// How a long curve is asked for in part and from afar.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// Steps first to last, both included.
struct StepRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  bool contains(std::int64_t step) const { return first <= step && step <= last; }
};

// What is kept of the points of one series whose step >> shift is equal. Blocks of equal shift lie on one
// grid whatever the series, so that seeds can be averaged block by block.
struct SeriesBlock {
  std::int64_t index = 0;  // step >> shift
  std::int64_t count = 0;
  double sum = 0;            // of every value: NaN or infinite when one is
  Point first, last;         // by step; of equal steps, as they came
  Point low, high;           // of the finite values; meaningless when all of them are marks
  std::vector<Point> marks;  // every point that is not finite, by step

  std::int64_t finite() const { return count - static_cast<std::int64_t>(marks.size()); }
};

}  // namespace locus

// How a stored curve is read: in step order, thinned without losing its spikes, or block by block. Which points
// of which attempt count is core/experiment/retention.h.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "core/experiment/model.h"
#include "core/experiment/retention.h"
#include "core/ports/curves.h"

namespace locus {

// In step order; equal steps stay in the order given.
void sort_by_step(std::vector<Point>& points);

// At most max_points of them, as Store::points promises; 0: all. `points` in step order.
std::vector<Point> reduce_points(const std::vector<Point>& points, int max_points);

// Gathers points, and blocks of equal or smaller width, into blocks of 2^shift steps; in the order they came.
class BlockCollector {
 public:
  explicit BlockCollector(int shift) : shift_(shift) {}
  void add(const Point& point);
  void merge(const SeriesBlock& block);  // its points all lie in one block of this width
  std::vector<SeriesBlock> take();       // by index; empty afterwards

 private:
  SeriesBlock& at(std::int64_t step);

  int shift_;
  std::map<std::int64_t, SeriesBlock> blocks_;
  SeriesBlock* newest_ = nullptr;  // where the last one went: curves mostly come in order
};

// Adds what is in `from`, which came later, to `to`.
void merge_block(SeriesBlock& to, const SeriesBlock& from);

// The width of blocks from which at most max_points can be drawn without showing that they are blocks;
// nothing when the points themselves are wanted. `stored` of them over `range`, which is bounded.
std::optional<int> drawing_shift(std::int64_t stored, StepRange range, int max_points);

// At most max_points of what the blocks keep, in step order: of each bucket of whole blocks first, last, lowest
// and highest, and every mark. Nothing when the marks alone would take half of them.
std::optional<std::vector<Point>> draw_blocks(const std::vector<SeriesBlock>& blocks, int max_points);

absl::Status check_shift(int shift);  // INVALID_ARGUMENT unless 0 to 62

}  // namespace locus

// How a stored curve is read: in step order, and thinned without losing its spikes. Which points of which
// attempt count is core/experiment/retention.h.
#pragma once

#include <vector>

#include "core/experiment/model.h"
#include "core/experiment/retention.h"

namespace locus {

// In step order; equal steps stay in the order given.
void sort_by_step(std::vector<Point>& points);

// At most max_points of them, as Store::points promises; 0: all. `points` in step order.
std::vector<Point> reduce_points(const std::vector<Point>& points, int max_points);

}  // namespace locus

// How a stored curve is read: which points of which attempt count, and how a long curve is thinned without
// losing its spikes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// For each attempt, the highest step whose points and checkpoints count; absent when none do. An attempt is
// superseded past the resume step of every later one, and wholly by one that began afresh.
std::map<std::int64_t, std::int64_t> live_until(std::span<const AttemptRow> attempts);

// The checkpoint a new attempt resumes from: the newest not superseded. `checkpoints` and `attempts` of one
// stage.
std::optional<CheckpointRow> newest_checkpoint(std::span<const CheckpointRow> checkpoints,
                                               std::span<const AttemptRow> attempts);

// In step order; equal steps stay in the order given.
void sort_by_step(std::vector<Point>& points);

// At most max_points of them, as Store::points promises; 0: all. `points` in step order.
std::vector<Point> reduce_points(const std::vector<Point>& points, int max_points);

}  // namespace locus

// Curves out of the database: all points of a stretch of steps, or what the pyramid keeps of them.
#pragma once

#include <span>
#include <vector>

#include "core/experiment/model.h"
#include "core/ports/curves.h"
#include "storage/sqlite/connection.h"

namespace locus::sqlite {

// `attempts` are all of the stage's; superseded points are left out. All throw SqliteError, for damage too.

// In step order.
std::vector<Point> read_points(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts,
                               StepRange range);

// In blocks of 2^shift steps. Chunks wholly inside are not read where their pyramid will do.
std::vector<SeriesBlock> read_blocks(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts,
                                     StepRange range, int shift);

// Points stored, superseded included.
std::int64_t stored_points(Connection& db, std::int64_t series_id, StageId stage);

struct Drawn {
  std::vector<Point> points;
  bool reduced = false;
};
// As Store::points.
Drawn draw_curve(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts, StepRange range,
                 int max_points);

}  // namespace locus::sqlite

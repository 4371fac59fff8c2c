// Points in the database: logged batch by batch as they are acknowledged, sealed into chunks by series, read
// back as curves.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/experiment/model.h"
#include "storage/sqlite/connection.h"

namespace locus::sqlite {

// Logs points [skip, size) as sequences first_seq + skip and on, and moves acked_seq; seals when enough has
// gathered.
void log_points(Connection& db, const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                std::size_t skip, std::span<const std::int64_t> series_ids);

// Moves what the attempt has in the log into chunks. A damaged batch leaves the log as it is: reads tell of
// it.
void seal_points(Connection& db, StageId stage, std::int64_t number);

// The points of a series that are not superseded, in step order, and how many are stored, those included.
// `attempts`: all of the stage's. Throws SqliteError for damage.
struct Curve {
  std::vector<Point> points;
  std::int64_t stored = 0;
};
Curve read_curve(Connection& db, std::int64_t series_id, std::span<const AttemptRow> attempts);

// Points stored of each series of a stage, superseded included, by series id.
std::map<std::int64_t, std::int64_t> count_points(Connection& db, StageId stage);

}  // namespace locus::sqlite

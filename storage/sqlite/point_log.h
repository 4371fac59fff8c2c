// Points on their way into the database: logged batch by batch as they are acknowledged, sealed into chunks
// by series once enough has gathered, the batch that makes it enough at once. Reading them back is curves.h.
#pragma once

#include <map>
#include <span>
#include <string_view>

#include "core/experiment/model.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/point_codec.h"

namespace locus::sqlite {

// Stores points [skip, size) as sequences first_seq + skip and on, and moves acked_seq: in the log, or with
// what is there in chunks when that is enough.
void log_points(Connection& db, const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                std::size_t skip, std::span<const std::int64_t> series_ids);

// Moves what the attempt has in the log into chunks. A damaged batch leaves the log as it is: reads tell of
// it.
void seal_points(Connection& db, StageId stage, std::int64_t attempt);

// Points stored of each series of a stage, superseded included, by series id.
std::map<std::int64_t, std::int64_t> count_points(Connection& db, StageId stage);

// The points of a blob; throws SqliteError that names the table for one that is damaged.
PointColumns checked_points(std::string_view blob, const char* where);

}  // namespace locus::sqlite

// Points in the database.
#include "storage/sqlite/point_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "storage/sqlite/pyramid.h"

namespace locus::sqlite {
namespace {

constexpr std::int64_t kSealPoints = 8192;  // of one attempt in the log: bounds what a read must search through
constexpr std::int64_t kFullChunk = 2048;   // smaller ones grow at the next seal

struct Piece {  // points of one series on their way into a chunk
  std::int64_t first_seq = 0;
  PointColumns columns;
};

void copy_point(const PointColumns& from, std::size_t i, PointColumns& to) {
  to.step.push_back(from.step[i]);
  to.images.push_back(from.images[i]);
  to.time_us.push_back(from.time_us[i]);
  to.epoch.push_back(from.epoch[i]);
  to.value.push_back(from.value[i]);
}

// The attempt's log by series; false when a batch is damaged.
bool collect_log(Connection& db, StageId stage, std::int64_t attempt, std::map<std::int64_t, Piece>& pieces) {
  auto log =
      db.prepare("SELECT first_seq, columns FROM point_log WHERE stage_id = ? AND number = ? ORDER BY first_seq");
  log.bind(stage, attempt);
  while (log.step()) {
    const auto columns = decode_points(log.blob(1));
    if (!columns || columns->series.size() != columns->size()) return false;
    for (std::size_t i = 0; i < columns->size(); ++i) {
      Piece& piece = pieces[columns->series[i]];
      if (piece.columns.size() == 0) piece.first_seq = log.integer(0) + static_cast<std::int64_t>(i);
      copy_point(*columns, i, piece.columns);
    }
  }
  return true;
}

void store_piece(Connection& db, std::int64_t series_id, std::int64_t attempt, Piece piece) {
  std::int64_t grown = 0;  // the chunk to grow, then the one stored
  {
    auto last = db.prepare(
        "SELECT id, first_seq, count, columns FROM chunk WHERE series_id = ? AND number = ? "
        "ORDER BY first_seq DESC LIMIT 1");
    if (last.bind(series_id, attempt).step() && last.integer(2) < kFullChunk) {
      if (auto columns = decode_points(last.blob(3))) {  // a damaged one is left alone
        grown = last.integer(0);
        piece.first_seq = last.integer(1);
        for (std::size_t i = 0; i < piece.columns.size(); ++i) copy_point(piece.columns, i, *columns);
        piece.columns = std::move(*columns);
      }
    }
  }
  const auto [low, high] = std::minmax_element(piece.columns.step.begin(), piece.columns.step.end());
  const auto count = static_cast<std::int64_t>(piece.columns.size());
  const std::string blob = encode_points(piece.columns);
  if (grown != 0) {
    db.prepare("UPDATE chunk SET first_step = ?, last_step = ?, count = ?, columns = ? WHERE id = ?")
        .bind(*low, *high, count, Blob{blob}, grown)
        .run();
  } else {
    auto insert = db.prepare(
        "INSERT INTO chunk (id, series_id, number, first_seq, first_step, last_step, count, columns) "
        "SELECT COALESCE(MAX(id), 0) + 1, ?, ?, ?, ?, ?, ?, ? FROM chunk RETURNING id");
    insert.bind(series_id, attempt, piece.first_seq, *low, *high, count, Blob{blob}).step();
    grown = insert.integer(0);
    insert.run();
  }
  if (count >= kFullChunk) store_pyramid(db, grown, piece.columns);  // it grows no more
}

}  // namespace

PointColumns checked_points(std::string_view blob, const char* where) {
  auto columns = decode_points(blob);
  if (!columns) throw SqliteError(SQLITE_CORRUPT, std::string("a block of points in ") + where + " fails its checksum");
  return std::move(*columns);
}

void log_points(Connection& db, const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                std::size_t skip, std::span<const std::int64_t> series_ids) {
  PointColumns columns;
  for (std::size_t i = skip; i < batch.size(); ++i) columns.series.push_back(series_ids[batch.series_index[i]]);
  const auto from = static_cast<std::ptrdiff_t>(skip);
  columns.step.assign(batch.step.begin() + from, batch.step.end());
  columns.images.assign(batch.images.begin() + from, batch.images.end());
  columns.time_us.assign(batch.time_us.begin() + from, batch.time_us.end());
  columns.epoch.assign(batch.epoch.begin() + from, batch.epoch.end());
  columns.value.assign(batch.value.begin() + from, batch.value.end());
  const std::int64_t first = first_seq + static_cast<std::int64_t>(skip);
  const auto count = static_cast<std::int64_t>(columns.size());
  const std::string blob = encode_points(columns);
  db.prepare(
        "INSERT INTO point_log (id, stage_id, number, first_seq, count, columns) "
        "SELECT COALESCE(MAX(id), 0) + 1, ?, ?, ?, ?, ? FROM point_log")
      .bind(attempt.stage_id, attempt.number, first, count, Blob{blob})
      .run();
  std::int64_t sealed = 0;
  {
    auto update = db.prepare("UPDATE attempt SET acked_seq = ? WHERE stage_id = ? AND number = ? RETURNING sealed_seq");
    update.bind(first + count - 1, attempt.stage_id, attempt.number).step();
    sealed = update.integer(0);
    update.run();
  }
  if (first + count - 1 - sealed >= kSealPoints) seal_points(db, attempt.stage_id, attempt.number);
}

void seal_points(Connection& db, StageId stage, std::int64_t attempt) {
  std::map<std::int64_t, Piece> pieces;
  if (!collect_log(db, stage, attempt, pieces) || pieces.empty()) return;
  for (auto& [series_id, piece] : pieces) store_piece(db, series_id, attempt, std::move(piece));
  db.prepare("DELETE FROM point_log WHERE stage_id = ? AND number = ?").bind(stage, attempt).run();
  db.prepare("UPDATE attempt SET sealed_seq = acked_seq WHERE stage_id = ? AND number = ?").bind(stage, attempt).run();
}

std::map<std::int64_t, std::int64_t> count_points(Connection& db, StageId stage) {
  std::map<std::int64_t, std::int64_t> out;
  auto chunks = db.prepare(
      "SELECT c.series_id, SUM(c.count) FROM series s JOIN chunk c ON c.series_id = s.id "
      "WHERE s.stage_id = ? GROUP BY c.series_id");
  chunks.bind(stage);
  while (chunks.step()) out[chunks.integer(0)] += chunks.integer(1);
  auto log = db.prepare("SELECT columns FROM point_log WHERE stage_id = ?");
  log.bind(stage);
  while (log.step()) {
    for (const std::int64_t series_id : checked_points(log.blob(0), "point_log").series) ++out[series_id];
  }
  return out;
}

}  // namespace locus::sqlite

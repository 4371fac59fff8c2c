// Points in the database.
#include "storage/sqlite/point_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "storage/sqlite/pyramid.h"

namespace locus::sqlite {
namespace {

constexpr std::int64_t kSealPoints = 8192;  // of one attempt in the log: bounds what a read must search through
constexpr std::int64_t kFullChunk = 2048;   // smaller ones grow at the next seal

struct Piece {  // points of one series on their way into a chunk
  std::int64_t first_seq = 0;
  PointColumns columns;
};
using Pieces = std::map<std::int64_t, Piece>;  // by series id

template <typename T>
void append_some(const std::vector<T>& from, std::span<const std::size_t> places, std::vector<T>& to) {
  const std::size_t before = to.size();
  to.resize(before + places.size());
  for (std::size_t i = 0; i < places.size(); ++i) to[before + i] = from[places[i]];
}

// The points at some places behind those that `to` holds, but for their series.
void append_points(const PointColumns& from, std::span<const std::size_t> places, PointColumns& to) {
  append_some(from.step, places, to.step);
  append_some(from.images, places, to.images);
  append_some(from.time_us, places, to.time_us);
  append_some(from.epoch, places, to.epoch);
  append_some(from.value, places, to.value);
}

template <typename T>
void append_all(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_points(const PointColumns& from, PointColumns& to) {
  append_all(from.step, to.step);
  append_all(from.images, to.images);
  append_all(from.time_us, to.time_us);
  append_all(from.epoch, to.epoch);
  append_all(from.value, to.value);
}

// Points whose first has this sequence, to the pieces of their series.
void divide(const PointColumns& columns, std::int64_t first_seq, Pieces& pieces) {
  std::unordered_map<std::int64_t, std::vector<std::size_t>> places;
  std::vector<std::size_t>* of = nullptr;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == 0 || columns.series[i] != columns.series[i - 1]) of = &places[columns.series[i]];
    of->push_back(i);
  }
  for (const auto& [series, some] : places) {
    Piece& piece = pieces[series];
    if (piece.columns.size() == 0) piece.first_seq = first_seq + static_cast<std::int64_t>(some.front());
    append_points(columns, some, piece.columns);
  }
}

// The attempt's log by series; false when a batch is damaged.
bool collect_log(Connection& db, StageId stage, std::int64_t attempt, Pieces& pieces) {
  auto log =
      db.prepare("SELECT first_seq, columns FROM point_log WHERE stage_id = ? AND number = ? ORDER BY first_seq");
  log.bind(stage, attempt);
  while (log.step()) {
    const auto columns = decode_points(log.blob(1));
    if (!columns || columns->series.size() != columns->size()) return false;
    divide(*columns, log.integer(0), pieces);
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
        append_points(piece.columns, *columns);
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

// What the attempt has in the log, and perhaps more, as chunks instead; the pieces are emptied.
void store_pieces(Connection& db, StageId stage, std::int64_t attempt, Pieces& pieces) {
  for (auto& [series_id, piece] : pieces) store_piece(db, series_id, attempt, std::move(piece));
  db.prepare("DELETE FROM point_log WHERE stage_id = ? AND number = ?").bind(stage, attempt).run();
  db.prepare("UPDATE attempt SET sealed_seq = acked_seq WHERE stage_id = ? AND number = ?").bind(stage, attempt).run();
}

// How far its points are sealed.
std::int64_t move_acked(Connection& db, const AttemptRow& attempt, std::int64_t seq) {
  auto update = db.prepare("UPDATE attempt SET acked_seq = ? WHERE stage_id = ? AND number = ? RETURNING sealed_seq");
  update.bind(seq, attempt.stage_id, attempt.number).step();
  const std::int64_t sealed = update.integer(0);
  update.run();
  return sealed;
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
  const std::int64_t sealed = move_acked(db, attempt, first + count - 1);
  Pieces pieces;
  if (first + count - 1 - sealed >= kSealPoints && collect_log(db, attempt.stage_id, attempt.number, pieces)) {
    divide(columns, first, pieces);  // a batch that makes enough never enters the log
    store_pieces(db, attempt.stage_id, attempt.number, pieces);
    return;
  }
  const std::string blob = encode_points(columns);
  db.prepare(
        "INSERT INTO point_log (id, stage_id, number, first_seq, count, columns) "
        "SELECT COALESCE(MAX(id), 0) + 1, ?, ?, ?, ?, ? FROM point_log")
      .bind(attempt.stage_id, attempt.number, first, count, Blob{blob})
      .run();
}

void seal_points(Connection& db, StageId stage, std::int64_t attempt) {
  Pieces pieces;
  if (collect_log(db, stage, attempt, pieces) && !pieces.empty()) store_pieces(db, stage, attempt, pieces);
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

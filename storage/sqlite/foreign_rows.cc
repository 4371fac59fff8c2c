// The tables of series that another program measured.
#include "storage/rules/metadata.h"
#include "storage/sqlite/point_codec.h"
#include "storage/sqlite/queries.h"
#include "storage/sqlite/rows.h"

namespace locus::sqlite {
namespace {

std::string columns_of(const ForeignSeries& series) {
  PointColumns columns;
  columns.step = series.step;
  columns.time_us = series.time_us;
  columns.value = series.value;
  columns.images.resize(series.value.size());
  columns.epoch.resize(series.value.size());
  return encode_points(columns);
}

void read_columns(std::string_view bytes, ForeignSeries* out) {
  auto columns = decode_points(bytes);
  if (!columns || static_cast<std::int64_t>(columns->size()) != out->points)
    throw SqliteError(SQLITE_CORRUPT, "the points of a foreign series are damaged");
  out->step = std::move(columns->step);
  out->time_us = std::move(columns->time_us);
  out->value = std::move(columns->value);
}

std::vector<ForeignSeries> series_of(Connection& db, ExperimentId id, const std::string& digest,
                                     const ForeignQuery& query) {
  auto s = db.prepare(
      "SELECT metric, split, labels, points, iif(?3, columns, NULL) FROM foreign_series "
      "WHERE experiment_id = ?1 AND digest = ?2 ORDER BY metric, split, labels");
  s.bind(id, digest, query.with_points);
  std::vector<ForeignSeries> out;
  while (s.step()) {
    ForeignSeries series{.key = {s.text(0), s.text(1), s.text(2)}, .points = s.integer(3)};
    if (query.key && series.key != *query.key) continue;
    if (query.with_points) read_columns(s.blob(4), &series);
    thin(&series, query.max_points);
    out.push_back(std::move(series));
  }
  return out;
}

}  // namespace

std::set<std::string> SqliteRows::foreign_digests(ExperimentId experiment) {
  auto s = db_.prepare("SELECT digest FROM foreign_import WHERE experiment_id = ?");
  s.bind(experiment);
  std::set<std::string> out;
  while (s.step()) out.insert(s.text(0));
  return out;
}

void SqliteRows::put_foreign(ExperimentId experiment, const ForeignImport& row) {
  db_.prepare(
         "INSERT INTO foreign_import (experiment_id, digest, source, format, imported_by, imported_us) "
         "VALUES (?, ?, ?, ?, ?, ?)")
      .bind(experiment, row.digest, row.source, row.format, row.imported_by, row.imported_us)
      .run();
  for (const ForeignSeries& series : row.series) {
    const std::string columns = columns_of(series);
    db_.prepare(
           "INSERT INTO foreign_series (experiment_id, digest, metric, split, labels, points, columns) "
           "VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind(experiment, row.digest, series.key.metric, series.key.split, series.key.labels, series.points,
              Blob{columns})
        .run();
  }
}

void SqliteRows::erase_foreign(ExperimentId experiment, const std::string& digest) {
  db_.prepare("DELETE FROM foreign_series WHERE experiment_id = ? AND digest = ?").bind(experiment, digest).run();
  db_.prepare("DELETE FROM foreign_import WHERE experiment_id = ? AND digest = ?").bind(experiment, digest).run();
}

std::vector<ForeignImport> list_foreign(Connection& db, ExperimentId id, const ForeignQuery& query) {
  auto s = db.prepare(
      "SELECT digest, source, format, imported_by, imported_us FROM foreign_import "
      "WHERE experiment_id = ?1 AND (?2 = '' OR digest = ?2) ORDER BY digest");
  s.bind(id, query.digest);
  std::vector<ForeignImport> out;
  while (s.step()) {
    ForeignImport row{s.text(0), s.text(1), s.text(2), s.text(3), s.integer(4), {}};
    row.series = series_of(db, id, row.digest, query);
    if (!row.series.empty()) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace locus::sqlite

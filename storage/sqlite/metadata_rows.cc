// The rules' view of the tables, and the reads, of annotations, samples, alerts and extensions.
#include "core/base/json.h"
#include "storage/rules/metadata.h"
#include "storage/rules/refusals.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/queries.h"
#include "storage/sqlite/rows.h"

namespace locus::sqlite {
namespace {

Annotation read_annotation(const Statement& s, int at) {
  Annotation out;
  const Json tags = Json::parse(s.text(at), nullptr, false);
  for (const Json& tag : tags) {
    if (tag.is_string()) out.tags.push_back(tag.get<std::string>());
  }
  out.note = s.text(at + 1);
  return out;
}

}  // namespace

void SqliteRows::put_extension(const ExtensionRow& row) {
  db_.prepare("INSERT OR REPLACE INTO extension (name, run_by, digest, items_json, loaded_us) VALUES (?, ?, ?, ?, ?)")
      .bind(row.name, row.by, row.digest, row.items_json, row.loaded_us)
      .run();
}

void SqliteRows::erase_extension(const std::string& name) {
  db_.prepare("DELETE FROM extension WHERE name = ?").bind(name).run();
}

Annotation SqliteRows::annotation(ExperimentId experiment, std::int64_t trial) {
  auto s = db_.prepare("SELECT tags, note FROM annotation WHERE experiment_id = ? AND trial = ?");
  return s.bind(experiment, trial).step() ? read_annotation(s, 0) : Annotation();
}

void SqliteRows::put_annotation(ExperimentId experiment, std::int64_t trial, const Annotation& row) {
  db_.prepare("DELETE FROM annotation WHERE experiment_id = ? AND trial = ?").bind(experiment, trial).run();
  if (row.empty()) return;
  const std::string tags = Json(row.tags).dump();
  db_.prepare("INSERT INTO annotation (experiment_id, trial, tags, note) VALUES (?, ?, ?, ?)")
      .bind(experiment, trial, tags, row.note)
      .run();
}

std::optional<WorkerId> SqliteRows::worker_of_session(const std::string& session) {
  auto s = db_.prepare("SELECT id FROM worker WHERE session = ?");
  return s.bind(session).step() ? std::optional(s.integer(0)) : std::nullopt;
}

std::vector<Microseconds> SqliteRows::sample_times(StageId id, std::int64_t attempt) {
  auto s = db_.prepare("SELECT time_us FROM attempt_sample WHERE stage_id = ? AND number = ? ORDER BY time_us");
  s.bind(id, attempt);
  std::vector<Microseconds> out;
  while (s.step()) out.push_back(s.integer(0));
  return out;
}

void SqliteRows::put_sample(StageId id, std::int64_t attempt, const SystemSample& sample) {
  const std::string json = sample_to_text(sample);
  db_.prepare("INSERT INTO attempt_sample (stage_id, number, time_us, step, json) VALUES (?, ?, ?, ?, ?)")
      .bind(id, attempt, sample.time_us, sample.step, json)
      .run();
}

void SqliteRows::erase_sample(StageId id, std::int64_t attempt, Microseconds time_us) {
  db_.prepare("DELETE FROM attempt_sample WHERE stage_id = ? AND number = ? AND time_us = ?")
      .bind(id, attempt, time_us)
      .run();
}

void SqliteRows::put_worker_sample(WorkerId id, const SystemSample& sample) {
  const std::string json = sample_to_text(sample);
  db_.prepare("INSERT OR REPLACE INTO worker_sample (worker_id, time_us, json) VALUES (?, ?, ?)")
      .bind(id, sample.time_us, json)
      .run();
}

void SqliteRows::erase_worker_samples(WorkerId id, Microseconds before) {
  db_.prepare("DELETE FROM worker_sample WHERE worker_id = ? AND time_us < ?").bind(id, before).run();
}

void SqliteRows::put_alert(const AlertRow& row) {
  db_.prepare("INSERT OR REPLACE INTO alert (experiment_id, state, outcome, detail, time_us) VALUES (?, ?, ?, ?, ?)")
      .bind(row.experiment, row.state, static_cast<int>(row.outcome), row.detail, row.time_us)
      .run();
}

void SqliteRows::erase_alerts() { db_.prepare("DELETE FROM alert").run(); }

std::vector<ExtensionRow> list_extensions(Connection& db) {
  auto s = db.prepare("SELECT name, run_by, digest, items_json, loaded_us FROM extension ORDER BY name");
  std::vector<ExtensionRow> out;
  while (s.step()) out.push_back({s.text(0), s.text(1), s.text(2), s.text(3), s.integer(4)});
  return out;
}

absl::StatusOr<std::map<std::int64_t, Annotation>> list_annotations(Connection& db, ExperimentId id) {
  auto s = db.prepare("SELECT trial, tags, note FROM annotation WHERE experiment_id = ?");
  s.bind(id);
  std::map<std::int64_t, Annotation> out;
  while (s.step()) out[s.integer(0)] = read_annotation(s, 1);
  return out;
}

std::vector<AttemptSample> list_samples(Connection& db, StageId id) {
  auto s = db.prepare(
      "SELECT number, time_us, step, json FROM attempt_sample WHERE stage_id = ? "
      "ORDER BY number, time_us");
  s.bind(id);
  std::vector<AttemptSample> out;
  while (s.step()) {
    AttemptSample one{s.integer(0), {s.integer(1), s.integer(2), {}}};
    sample_from_text(s.text(3), &one.sample);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<SystemSample> list_worker_samples(Connection& db, WorkerId id) {
  auto s = db.prepare("SELECT time_us, json FROM worker_sample WHERE worker_id = ? ORDER BY time_us");
  s.bind(id);
  std::vector<SystemSample> out;
  while (s.step()) {
    SystemSample one{s.integer(0), 0, {}};
    sample_from_text(s.text(1), &one);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<AlertRow> list_alerts(Connection& db) {
  auto s = db.prepare("SELECT experiment_id, state, outcome, detail, time_us FROM alert ORDER BY experiment_id");
  std::vector<AlertRow> out;
  while (s.step()) {
    if (s.integer(2) < 0 || s.integer(2) > 3) throw SqliteError(SQLITE_CORRUPT, "unknown outcome of an alert");
    out.push_back({s.integer(0), s.text(1), static_cast<AlertOutcome>(s.integer(2)), s.text(3), s.integer(4)});
  }
  return out;
}

}  // namespace locus::sqlite

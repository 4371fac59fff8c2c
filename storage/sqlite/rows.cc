// The rules' view of the tables, on the writer's connection.
#include "storage/sqlite/rows.h"

#include "core/base/sha256.h"
#include "core/experiment/load.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/point_log.h"

namespace locus::sqlite {

void SqliteRows::put_catalog(const std::string& digest, const std::string& json) {
  db_.prepare("INSERT INTO catalog (digest, json) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING")
      .bind(digest, json)
      .run();
}

std::optional<ExperimentRow> SqliteRows::experiment(ExperimentId id) {
  auto s = db_.prepare("SELECT " LOCUS_EXPERIMENT_COLUMNS " FROM experiment WHERE id = ? AND deleted = 0");
  if (!s.bind(id).step()) return std::nullopt;
  return read_experiment(s);
}

std::optional<ExperimentRow> SqliteRows::experiment(const std::string& name) {
  auto s = db_.prepare("SELECT " LOCUS_EXPERIMENT_COLUMNS " FROM experiment WHERE name = ? AND deleted = 0");
  if (!s.bind(name).step()) return std::nullopt;
  return read_experiment(s);
}

void SqliteRows::put_experiment(const ExperimentRow& row) {
  db_.prepare("INSERT INTO experiment (" LOCUS_EXPERIMENT_COLUMNS
              ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
              "ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, spec_json = excluded.spec_json, "
              "revision = excluded.revision, state = excluded.state, priority = excluded.priority, "
              "catalog_digest = excluded.catalog_digest, reason = excluded.reason, "
              "stage_seconds = excluded.stage_seconds, class = excluded.class, "
              "placement = excluded.placement")
      .bind(row.id, row.name, row.owner, row.spec_json, row.revision, to_string(row.state), row.priority,
            row.catalog_digest, row.created_us, row.reason, row.stage_seconds, to_string(row.service_class),
            row.placement)
      .run();
}

bool SqliteRows::has_cell(ExperimentId experiment, std::int64_t ordinal) {
  return db_.prepare("SELECT 1 FROM cell WHERE experiment_id = ? AND ordinal = ?").bind(experiment, ordinal).step();
}

void SqliteRows::put_cell(ExperimentId experiment, const CellRow& row) {
  db_.prepare(
         "INSERT INTO cell (experiment_id, ordinal, row_key, label, assignment_json) VALUES (?, ?, ?, ?, ?) "
         "ON CONFLICT (experiment_id, ordinal) DO UPDATE SET row_key = excluded.row_key, label = "
         "excluded.label, "
         "assignment_json = excluded.assignment_json")
      .bind(experiment, row.ordinal, row.row_key, row.label, row.assignment_json)
      .run();
}

bool SqliteRows::has_trial(ExperimentId experiment, std::int64_t ordinal) {
  return db_.prepare("SELECT 1 FROM trial WHERE experiment_id = ? AND ordinal = ?").bind(experiment, ordinal).step();
}

void SqliteRows::put_trial(ExperimentId experiment, const TrialRow& row) {
  db_.prepare(
         "INSERT INTO trial (experiment_id, ordinal, cell, seed, retired) VALUES (?, ?, ?, ?, ?) "
         "ON CONFLICT (experiment_id, ordinal) DO UPDATE SET cell = excluded.cell, seed = excluded.seed, "
         "retired = excluded.retired")
      .bind(experiment, row.ordinal, row.cell, row.seed, row.retired)
      .run();
}

void SqliteRows::put_trial_stage(ExperimentId experiment, const TrialStageRow& row, std::int64_t position) {
  db_.prepare(
         "INSERT INTO trial_stage (experiment_id, trial, role, position, stage_id, until_step) VALUES (?, ?, ?, ?, ?, "
         "?) "
         "ON CONFLICT (experiment_id, trial, role) DO UPDATE SET position = excluded.position, "
         "stage_id = excluded.stage_id, until_step = excluded.until_step")
      .bind(experiment, row.trial, row.role, position, row.stage_id, row.until_step)
      .run();
}

void SqliteRows::erase_trial_stage(ExperimentId experiment, std::int64_t trial, const std::string& role) {
  db_.prepare("DELETE FROM trial_stage WHERE experiment_id = ? AND trial = ? AND role = ?")
      .bind(experiment, trial, role)
      .run();
}

std::optional<std::string> SqliteRows::request(const std::string& request_id) {
  auto s = db_.prepare("SELECT experiment FROM idempotency WHERE request_id = ?");
  if (!s.bind(request_id).step()) return std::nullopt;
  return s.text(0);
}

void SqliteRows::put_request(const std::string& request_id, const std::string& name, Microseconds now) {
  db_.prepare(
         "INSERT INTO idempotency (request_id, experiment, time_us) VALUES (?, ?, ?) "
         "ON CONFLICT (request_id) DO UPDATE SET time_us = excluded.time_us")
      .bind(request_id, name, now)
      .run();
}

std::optional<StageRow> SqliteRows::stage(StageId id) {
  auto s = db_.prepare("SELECT " LOCUS_STAGE_COLUMNS LOCUS_STAGE_TABLES "WHERE s.id = ?");
  if (!s.bind(id).step()) return std::nullopt;
  return StageReader().read(s);
}

bool SqliteRows::has_identity(const std::string& identity) {
  return db_.prepare("SELECT 1 FROM stage WHERE identity = ?").bind(identity).step();
}

std::int64_t SqliteRows::requirement_id(const StageRequirements& asked) {
  if (asked == StageRequirements{}) return 0;
  const std::string revisions = Json(asked.revisions).dump();
  db_.prepare("INSERT INTO requirement (revisions, exclusive, memory_bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
      .bind(revisions, asked.exclusive, asked.memory_bytes)
      .run();
  auto s = db_.prepare("SELECT id FROM requirement WHERE revisions = ? AND exclusive = ? AND memory_bytes = ?");
  s.bind(revisions, asked.exclusive, asked.memory_bytes).step();
  return s.integer(0);
}

void SqliteRows::insert_stage(const StageRow& row) {
  const std::string hash = sha256_hex(row.config_json);
  db_.prepare("INSERT INTO config (hash, json) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING")
      .bind(hash, row.config_json)
      .run();
  const std::int64_t requirement = row.requirements ? requirement_id(*row.requirements) : 0;
  const std::string load = load_of(row.kind, row.config_json);
  db_.prepare("INSERT INTO load (text) VALUES (?) ON CONFLICT (text) DO NOTHING").bind(load).run();
  db_.prepare(
         "INSERT INTO stage (id, identity, kind, config_hash, seed, state, failure_class, reason, attempt, "
         "failures, faults, retry_delay_us, requirement_id, load_id) "
         "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT id FROM load WHERE text = ?))")
      .bind(row.id, row.identity, row.kind, hash, row.seed, to_string(row.state), to_string(row.failure_class),
            row.reason, row.attempt, row.failures, row.faults, row.retry_delay_us, requirement, load)
      .run();
}

void SqliteRows::update_stage(const StageRow& row) {
  db_.prepare(
         "UPDATE stage SET state = ?, failure_class = ?, reason = ?, attempt = ?, failures = ?, faults = ?, "
         "retry_delay_us = ? WHERE id = ?")
      .bind(to_string(row.state), to_string(row.failure_class), row.reason, row.attempt, row.failures, row.faults,
            row.retry_delay_us, row.id)
      .run();
}

bool SqliteRows::has_input(StageId id, const std::string& slot) {
  return db_.prepare("SELECT 1 FROM stage_input WHERE stage_id = ? AND slot = ?").bind(id, slot).step();
}

void SqliteRows::put_input(StageId id, const StageInput& input) {
  auto s = db_.prepare(
      "INSERT INTO stage_input (stage_id, slot, from_stage_id, artifact_sha256) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (stage_id, slot) DO UPDATE SET from_stage_id = excluded.from_stage_id, "
      "artifact_sha256 = excluded.artifact_sha256");
  if (input.from_stage == 0) {
    s.bind(id, input.slot, nullptr, input.artifact_sha256).run();
  } else {
    s.bind(id, input.slot, input.from_stage, input.artifact_sha256).run();
  }
}

void SqliteRows::fill_input(StageId id, const std::string& slot, const std::string& sha256) {
  db_.prepare("UPDATE stage_input SET artifact_sha256 = ? WHERE stage_id = ? AND slot = ?")
      .bind(sha256, id, slot)
      .run();
}

void SqliteRows::replace_results(StageId id, std::span<const Result> results) {
  db_.prepare("DELETE FROM result WHERE stage_id = ?").bind(id).run();
  for (const Result& result : results) {
    db_.prepare(
           "INSERT INTO result (stage_id, metric, split, labels, reducer, value, step) VALUES (?, ?, ?, ?, "
           "?, ?, ?) "
           "ON CONFLICT (stage_id, metric, split, labels, reducer) DO UPDATE SET value = excluded.value, "
           "step = excluded.step")
        .bind(id, result.key.metric, result.key.split, result.key.labels, result.reducer, double_to_text(result.value),
              result.step)
        .run();
  }
}

void SqliteRows::replace_outputs(StageId id, std::span<const StageOutput> outputs) {
  db_.prepare("DELETE FROM stage_output WHERE stage_id = ?").bind(id).run();
  for (const StageOutput& output : outputs) {
    db_.prepare(
           "INSERT INTO stage_output (stage_id, slot, sha256, step) VALUES (?, ?, ?, ?) "
           "ON CONFLICT (stage_id, slot) DO UPDATE SET sha256 = excluded.sha256, step = excluded.step")
        .bind(id, output.slot, output.sha256, output.step)
        .run();
  }
}

std::optional<AttemptRow> SqliteRows::attempt(StageId id, std::int64_t attempt) {
  auto s = db_.prepare("SELECT " LOCUS_ATTEMPT_COLUMNS " FROM attempt WHERE stage_id = ? AND number = ?");
  if (!s.bind(id, attempt).step()) return std::nullopt;
  return read_attempt(s);
}

void SqliteRows::put_attempt(const AttemptRow& row) {
  db_.prepare("INSERT INTO attempt (" LOCUS_ATTEMPT_COLUMNS
              ", sealed_seq) "
              "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (stage_id, number) DO "
              "UPDATE SET "
              "state = excluded.state, failure_class = excluded.failure_class, reason = excluded.reason, "
              "ended_us = excluded.ended_us, environment_json = excluded.environment_json")
      .bind(row.stage_id, row.number, row.worker_id, row.session, to_string(row.state), to_string(row.failure_class),
            row.reason, row.resume_step, row.resume_sha256, row.acked_seq, row.started_us, row.ended_us,
            row.environment_json, Json(row.slots).dump(), row.log_bytes, row.until_step, to_string(row.service_class),
            Json(row.accounts).dump())
      .run();
  if (row.state != AttemptState::kRunning) seal_points(db_, row.stage_id, row.number);
}

std::optional<CheckpointRow> SqliteRows::checkpoint(StageId id, std::int64_t attempt, std::int64_t step) {
  auto s =
      db_.prepare("SELECT " LOCUS_CHECKPOINT_COLUMNS " FROM checkpoint WHERE stage_id = ? AND number = ? AND step = ?");
  if (!s.bind(id, attempt, step).step()) return std::nullopt;
  return read_checkpoint(s);
}

void SqliteRows::put_checkpoint(const CheckpointRow& row) {
  db_.prepare("INSERT INTO checkpoint (" LOCUS_CHECKPOINT_COLUMNS
              ") VALUES (?, ?, ?, ?, ?) "
              "ON CONFLICT (stage_id, number, step) DO UPDATE SET sha256 = excluded.sha256, is_best = "
              "excluded.is_best")
      .bind(row.stage_id, row.attempt, row.step, row.sha256, row.best)
      .run();
}

void SqliteRows::clear_best(StageId id) {
  db_.prepare("UPDATE checkpoint SET is_best = 0 WHERE stage_id = ? AND is_best = 1").bind(id).run();
}

bool SqliteRows::has_artifact(const std::string& sha256) {
  return db_.prepare("SELECT 1 FROM artifact WHERE sha256 = ?").bind(sha256).step();
}

void SqliteRows::put_artifact(const ArtifactRow& row) {
  db_.prepare("INSERT INTO artifact (" LOCUS_ARTIFACT_COLUMNS
              ") VALUES (?, ?, ?, ?, ?, ?) "
              "ON CONFLICT (sha256) DO UPDATE SET created_us = excluded.created_us")
      .bind(row.sha256, row.kind, row.uri, row.bytes, row.pinned, row.created_us)
      .run();
}

bool SqliteRows::has_worker(WorkerId id) { return db_.prepare("SELECT 1 FROM worker WHERE id = ?").bind(id).step(); }

std::optional<WorkerId> SqliteRows::worker_named(const std::string& name) {
  auto s = db_.prepare("SELECT id FROM worker WHERE name = ?");
  if (!s.bind(name).step()) return std::nullopt;
  return s.integer(0);
}

void SqliteRows::put_worker(const WorkerRow& row) {
  db_.prepare("INSERT INTO worker (" LOCUS_WORKER_COLUMNS
              ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
              "ON CONFLICT (id) DO UPDATE SET name = excluded.name, session = excluded.session, host = "
              "excluded.host, "
              "version = excluded.version, slots_json = excluded.slots_json, "
              "catalog_digest = excluded.catalog_digest, state = excluded.state, seen_us = excluded.seen_us, "
              "drain = excluded.drain, reason = excluded.reason, instance = excluded.instance, "
              "since_us = excluded.since_us, data_json = excluded.data_json, forgotten = excluded.forgotten, "
              "labels_json = excluded.labels_json, drain_from_us = excluded.drain_from_us")
      .bind(row.id, row.name, row.session, row.host, row.version, row.slots_json, row.catalog_digest,
            to_string(row.state), row.seen_us, static_cast<int>(row.drain), row.reason, row.instance, row.since_us,
            row.data_json, row.forgotten, row.labels_json, row.drain_from_us)
      .run();
}

void SqliteRows::append_event(const std::string& subject, const std::string& kind, const std::string& json,
                              Microseconds now) {
  db_.prepare(
         "INSERT INTO event (id, time_us, subject, kind, json) "
         "SELECT COALESCE(MAX(id), 0) + 1, ?, ?, ?, ? FROM event")
      .bind(now, subject, kind, json)
      .run();
}

std::optional<std::int64_t> SqliteRows::series(StageId id, const SeriesKey& key) {
  auto s = db_.prepare("SELECT id FROM series WHERE stage_id = ? AND metric = ? AND split = ? AND labels = ?");
  if (!s.bind(id, key.metric, key.split, key.labels).step()) return std::nullopt;
  return s.integer(0);
}

std::int64_t SqliteRows::series_count(StageId id) {
  auto s = db_.prepare("SELECT COUNT(*) FROM series WHERE stage_id = ?");
  s.bind(id).step();
  return s.integer(0);
}

std::int64_t SqliteRows::insert_series(StageId id, const SeriesKey& key) {
  auto s = db_.prepare(
      "INSERT INTO series (id, stage_id, metric, split, labels) "
      "SELECT COALESCE(MAX(id), 0) + 1, ?, ?, ?, ? FROM series RETURNING id");
  s.bind(id, key.metric, key.split, key.labels).step();
  const std::int64_t made = s.integer(0);
  s.run();
  return made;
}

void SqliteRows::store_points(const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                              std::size_t skip, std::span<const std::int64_t> series_ids) {
  log_points(db_, attempt, first_seq, batch, skip, series_ids);
}

}  // namespace locus::sqlite

// Reads of stages, their attempts and curves; what a starting scheduler needs.
#include "core/base/error.h"
#include "storage/rules/curve.h"
#include "storage/rules/refusals.h"
#include "storage/sqlite/account_rows.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/curves.h"
#include "storage/sqlite/point_log.h"
#include "storage/sqlite/queries.h"

namespace locus::sqlite {
namespace {

// Every row of a statement that is bound already.
template <class Read>
auto all_rows(Statement& s, Read read) {
  std::vector<decltype(read(s))> out;
  while (s.step()) out.push_back(read(s));
  return out;
}

bool has_stage(Connection& db, StageId id) { return db.prepare("SELECT 1 FROM stage WHERE id = ?").bind(id).step(); }

std::vector<AttemptRow> attempts_of(Connection& db, StageId id) {
  auto s = db.prepare("SELECT " LOCUS_ATTEMPT_COLUMNS " FROM attempt WHERE stage_id = ? ORDER BY number");
  s.bind(id);
  return all_rows(s, read_attempt);
}

std::vector<CheckpointRow> checkpoints_of(Connection& db, StageId id) {
  auto s = db.prepare("SELECT " LOCUS_CHECKPOINT_COLUMNS " FROM checkpoint WHERE stage_id = ? ORDER BY number, step");
  s.bind(id);
  return all_rows(s, read_checkpoint);
}

// Crossed, which keeps the order: from the stages asked for, seldom many, not from all trials of the experiments.
#define LOCUS_REFERENCES                                                             \
  "SELECT l.experiment_id, l.stage_id, l.trial, t.cell, l.until_step FROM stage s "  \
  "CROSS JOIN trial_stage l ON l.stage_id = s.id "                                   \
  "CROSS JOIN trial t ON t.experiment_id = l.experiment_id AND t.ordinal = l.trial " \
  "CROSS JOIN experiment e ON e.id = l.experiment_id WHERE t.retired = 0 AND e.state IN ('active', 'paused')"

StageReference read_reference(const Statement& s) {
  return {s.integer(0), s.integer(1), s.integer(2), s.integer(3), s.integer(4)};
}

void load_unfinished(Connection& db, Snapshot& out) {
  auto stages = db.prepare("SELECT " LOCUS_STAGE_COLUMNS LOCUS_STAGE_TABLES
                           "WHERE s.state IN ('blocked', 'queued', 'running') ORDER BY s.id");
  StageReader reader;
  out.stages = all_rows(stages, [&reader](const Statement& s) { return reader.read(s); });
  for (StageRow& stage : out.stages) {
    complete_stage(db, stage);
    if (stage.attempt == 0) continue;
    const auto newest = newest_checkpoint(checkpoints_of(db, stage.id), attempts_of(db, stage.id));
    if (newest) out.resume[stage.id] = *newest;
  }
  auto running =
      db.prepare("SELECT " LOCUS_ATTEMPT_COLUMNS " FROM attempt WHERE state = 'running' ORDER BY stage_id, number");
  out.running = all_rows(running, read_attempt);
  auto references = db.prepare(LOCUS_REFERENCES
                               " AND s.state IN ('blocked', 'queued', 'running') "
                               "ORDER BY l.experiment_id, l.trial, l.stage_id");
  out.references = all_rows(references, read_reference);
}

}  // namespace

Snapshot load_snapshot(Connection& db) {
  Snapshot out;
  auto experiments =
      db.prepare("SELECT " LOCUS_EXPERIMENT_COLUMNS " FROM experiment WHERE state IN ('active', 'paused') ORDER BY id");
  out.experiments = all_rows(experiments, read_experiment);
  load_unfinished(db, out);
  out.workers = list_workers(db);
  out.accounts = list_accounts(db);
  out.usage = list_usage(db);
  auto cells = db.prepare(
      "SELECT e.id, (SELECT COUNT(*) FROM cell c WHERE c.experiment_id = e.id), "
      "EXISTS (SELECT 1 FROM trial t JOIN trial_stage l ON l.experiment_id = t.experiment_id AND "
      "l.trial = t.ordinal JOIN stage s ON s.id = l.stage_id "
      "WHERE t.experiment_id = e.id AND t.retired = 0 AND (s.state = 'succeeded' OR EXISTS "
      "(SELECT 1 FROM attempt a WHERE a.stage_id = s.id AND a.state = 'parked'))) "
      "FROM experiment e WHERE e.state IN ('active', 'paused')");
  while (cells.step()) {
    out.cells[cells.integer(0)] = cells.integer(1);
    if (cells.integer(2) != 0) out.proven.insert(cells.integer(0));
  }
  out.next_experiment = db.number(
      "SELECT MAX((SELECT COALESCE(MAX(id), 0) + 1 FROM experiment), "
      "COALESCE((SELECT value FROM remembered WHERE name = 'experiment'), 1))");
  out.next_stage = db.number(
      "SELECT MAX((SELECT COALESCE(MAX(id), 0) + 1 FROM stage), "
      "COALESCE((SELECT value FROM remembered WHERE name = 'stage'), 1))");
  out.next_worker = db.number("SELECT COALESCE(MAX(id), 0) + 1 FROM worker");
  return out;
}

void complete_stage(Connection& db, StageRow& row) {
  auto inputs = db.prepare(
      "SELECT slot, COALESCE(from_stage_id, 0), artifact_sha256 FROM stage_input "
      "WHERE stage_id = ? ORDER BY slot");
  inputs.bind(row.id);
  row.inputs = all_rows(inputs, [](const Statement& s) { return StageInput{s.text(0), s.integer(1), s.text(2)}; });
  auto outputs = db.prepare("SELECT slot, sha256, step FROM stage_output WHERE stage_id = ? ORDER BY slot");
  outputs.bind(row.id);
  row.outputs = all_rows(outputs, [](const Statement& s) { return StageOutput{s.text(0), s.text(1), s.integer(2)}; });
}

std::map<std::string, StageRow> find_stages(Connection& db, std::span<const std::string> identities) {
  std::map<std::string, StageRow> out;
  auto s = db.prepare("SELECT " LOCUS_STAGE_COLUMNS LOCUS_STAGE_TABLES "WHERE s.identity = ?");
  StageReader reader;
  for (const std::string& identity : identities) {
    if (out.contains(identity) || !s.bind(identity).step()) continue;
    StageRow row = reader.read(s);
    complete_stage(db, row);
    out.emplace(identity, std::move(row));
  }
  return out;
}

std::vector<PastRun> list_past_runs(Connection& db, const std::string& load, int limit) {
  auto s = db.prepare(
      "SELECT s.id, c.json, a.environment_json, a.ended_us - a.started_us, a.resume_step FROM stage s "
      "JOIN config c ON c.hash = s.config_hash JOIN attempt a ON a.stage_id = s.id AND a.number = s.attempt "
      "WHERE s.load_id = (SELECT id FROM load WHERE text = ?) AND s.state = 'succeeded' ORDER BY s.id DESC LIMIT ?");
  s.bind(load, std::max(limit, 0));
  return all_rows(s, [](const Statement& row) {
    return PastRun{row.integer(0), row.text(1), row.text(2), row.integer(3), row.integer(4)};
  });
}

absl::StatusOr<StageRow> find_stage(Connection& db, StageId id) {
  auto s = db.prepare("SELECT " LOCUS_STAGE_COLUMNS LOCUS_STAGE_TABLES "WHERE s.id = ?");
  if (!s.bind(id).step()) return refusal::stage_not_found(id);
  StageRow row = StageReader().read(s);
  complete_stage(db, row);
  return row;
}

absl::StatusOr<std::vector<AttemptRow>> list_attempts(Connection& db, StageId id) {
  if (!has_stage(db, id)) return refusal::stage_not_found(id);
  return attempts_of(db, id);
}

absl::StatusOr<std::vector<CheckpointRow>> list_checkpoints(Connection& db, StageId id) {
  if (!has_stage(db, id)) return refusal::stage_not_found(id);
  return checkpoints_of(db, id);
}

absl::StatusOr<std::vector<StageReference>> list_references(Connection& db, StageId id) {
  if (!has_stage(db, id)) return refusal::stage_not_found(id);
  auto s = db.prepare(LOCUS_REFERENCES " AND s.id = ? ORDER BY l.experiment_id, l.trial");
  s.bind(id);
  return all_rows(s, read_reference);
}

absl::StatusOr<std::vector<Result>> list_stage_results(Connection& db, StageId id) {
  if (!has_stage(db, id)) return refusal::stage_not_found(id);
  auto s = db.prepare("SELECT " LOCUS_RESULT_COLUMNS
                      " FROM result r WHERE r.stage_id = ? "
                      "ORDER BY r.metric, r.split, r.labels, r.reducer");
  s.bind(id);
  return all_rows(s, [](const Statement& row) { return read_result(row); });
}

absl::StatusOr<std::vector<SeriesRow>> list_series(Connection& db, StageId id) {
  if (!has_stage(db, id)) return refusal::stage_not_found(id);
  auto s = db.prepare("SELECT id, metric, split, labels FROM series WHERE stage_id = ? ORDER BY metric, split, labels");
  s.bind(id);
  auto out = all_rows(s, [&](const Statement& row) {
    return SeriesRow{row.integer(0), id, {row.text(1), row.text(2), row.text(3)}, 0};
  });
  if (out.empty()) return out;  // most stages: nothing to count
  auto counts = count_points(db, id);
  for (SeriesRow& row : out) row.points = counts[row.id];
  return out;
}

absl::StatusOr<std::int64_t> find_series(Connection& db, StageId id, const SeriesKey& key) {
  if (!has_stage(db, id)) return refusal::stage_not_found(id);
  auto s = db.prepare("SELECT id FROM series WHERE stage_id = ? AND metric = ? AND split = ? AND labels = ?");
  if (!s.bind(id, key.metric, key.split, key.labels).step()) return refusal::series_not_found(id, key);
  return s.integer(0);
}

absl::StatusOr<SeriesPoints> find_points(Connection& db, StageId id, const SeriesKey& key, int max_points,
                                         StepRange range) {
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t series, find_series(db, id, key));
  Drawn drawn = draw_curve(db, series, attempts_of(db, id), range, max_points);
  return SeriesPoints{{series, id, key, stored_points(db, series, id)}, std::move(drawn.points), drawn.reduced};
}

absl::StatusOr<std::vector<SeriesBlock>> find_blocks(Connection& db, StageId id, const SeriesKey& key, int shift,
                                                     StepRange range) {
  LOCUS_RETURN_IF_ERROR(check_shift(shift));
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t series, find_series(db, id, key));
  return read_blocks(db, series, attempts_of(db, id), range, shift);
}

std::vector<WorkerRow> list_workers(Connection& db) {
  auto s = db.prepare("SELECT " LOCUS_WORKER_COLUMNS " FROM worker ORDER BY id");
  return all_rows(s, read_worker);
}

std::vector<EventRow> list_events(Connection& db, std::int64_t after, int limit) {
  auto s = db.prepare("SELECT id, time_us, subject, kind, json FROM event WHERE id > ? ORDER BY id LIMIT ?");
  s.bind(after, std::max(limit, 0));
  return all_rows(s, [](const Statement& row) {
    return EventRow{row.integer(0), row.integer(1), row.text(2), row.text(3), row.text(4)};
  });
}

}  // namespace locus::sqlite

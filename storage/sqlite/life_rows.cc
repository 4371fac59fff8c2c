// The rules' view of the tables: who names what, logs, and taking rows out.
#include "core/limits.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/rows.h"

namespace locus::sqlite {
namespace {

template <class T, class Read>
std::set<T> collect(Statement& s, Read read) {
  std::set<T> out;
  while (s.step()) out.insert(read(s));
  return out;
}

std::int64_t first_integer(const Statement& s) { return s.integer(0); }
std::string first_text(const Statement& s) { return s.text(0); }

}  // namespace

std::optional<ArtifactRow> SqliteRows::artifact(const std::string& sha256) {
  auto s = db_.prepare("SELECT " LOCUS_ARTIFACT_COLUMNS " FROM artifact WHERE sha256 = ?");
  if (!s.bind(sha256).step()) return std::nullopt;
  return read_artifact(s);
}

void SqliteRows::set_pinned(const std::string& sha256, bool pinned) {
  db_.prepare("UPDATE artifact SET pinned = ? WHERE sha256 = ?").bind(pinned, sha256).run();
}

void SqliteRows::erase_artifact(const std::string& sha256) {
  db_.prepare("DELETE FROM artifact WHERE sha256 = ?").bind(sha256).run();
}

std::set<StageId> SqliteRows::stages_naming(const std::string& sha256) {
  auto s = db_.prepare(
      "SELECT stage_id FROM checkpoint WHERE sha256 = ?1 "
      "UNION SELECT stage_id FROM stage_output WHERE sha256 = ?1 "
      "UNION SELECT stage_id FROM stage_input WHERE artifact_sha256 = ?1 "
      "UNION SELECT stage_id FROM attempt WHERE state = 'running' AND resume_sha256 = ?1");
  s.bind(sha256);
  return collect<StageId>(s, first_integer);
}

std::set<std::string> SqliteRows::artifacts_named_by(StageId id) {
  auto s = db_.prepare(
      "SELECT sha256 FROM checkpoint WHERE stage_id = ?1 UNION SELECT sha256 FROM stage_output WHERE stage_id = ?1");
  s.bind(id);
  return collect<std::string>(s, first_text);
}

std::string SqliteRows::session_of(WorkerId id) {
  auto s = db_.prepare("SELECT session FROM worker WHERE id = ?");
  return s.bind(id).step() ? s.text(0) : "";
}

std::vector<AttemptRow> SqliteRows::attempts_of(StageId id) const {
  auto s = db_.prepare("SELECT " LOCUS_ATTEMPT_COLUMNS " FROM attempt WHERE stage_id = ? ORDER BY number");
  s.bind(id);
  std::vector<AttemptRow> out;
  while (s.step()) out.push_back(read_attempt(s));
  return out;
}

std::vector<CheckpointRow> SqliteRows::checkpoints_of(StageId id) const {
  auto s = db_.prepare("SELECT " LOCUS_CHECKPOINT_COLUMNS " FROM checkpoint WHERE stage_id = ? ORDER BY number, step");
  s.bind(id);
  std::vector<CheckpointRow> out;
  while (s.step()) out.push_back(read_checkpoint(s));
  return out;
}

void SqliteRows::erase_checkpoint(const CheckpointRow& row) {
  db_.prepare("DELETE FROM checkpoint WHERE stage_id = ? AND number = ? AND step = ?")
      .bind(row.stage_id, row.attempt, row.step)
      .run();
}

std::vector<StageOutput> SqliteRows::outputs_of(StageId id) {
  auto s = db_.prepare("SELECT slot, sha256, step FROM stage_output WHERE stage_id = ? ORDER BY slot");
  s.bind(id);
  std::vector<StageOutput> out;
  while (s.step()) out.push_back({s.text(0), s.text(1), s.integer(2)});
  return out;
}

void SqliteRows::append_log(const AttemptRow& attempt, const std::string& text) {
  db_.prepare("INSERT INTO attempt_log (stage_id, number, first_offset, text) VALUES (?, ?, ?, ?)")
      .bind(attempt.stage_id, attempt.number, attempt.log_bytes, Blob{text})
      .run();
  const std::int64_t mark = attempt.log_bytes + static_cast<std::int64_t>(text.size());
  db_.prepare("UPDATE attempt SET log_bytes = ? WHERE stage_id = ? AND number = ?")
      .bind(mark, attempt.stage_id, attempt.number)
      .run();
  db_.prepare("DELETE FROM attempt_log WHERE stage_id = ? AND number = ? AND first_offset + length(text) <= ?")
      .bind(attempt.stage_id, attempt.number, mark - kLogBytes)
      .run();
}

std::int64_t SqliteRows::trial_count(ExperimentId id) {
  auto s = db_.prepare("SELECT COUNT(*) FROM trial WHERE experiment_id = ?");
  s.bind(id).step();
  return s.integer(0);
}

std::set<StageId> SqliteRows::linked_stages(ExperimentId id) {
  auto s = db_.prepare("SELECT DISTINCT stage_id FROM trial_stage WHERE experiment_id = ?");
  s.bind(id);
  return collect<StageId>(s, first_integer);
}

std::set<ExperimentId> SqliteRows::experiments_linking(StageId id) {
  auto s = db_.prepare("SELECT DISTINCT experiment_id FROM trial_stage WHERE stage_id = ?");
  s.bind(id);
  return collect<ExperimentId>(s, first_integer);
}

std::set<std::string> SqliteRows::others_linking(StageId id, ExperimentId except) {
  auto s = db_.prepare(
      "SELECT DISTINCT e.name FROM trial_stage l JOIN experiment e ON e.id = l.experiment_id "
      "WHERE l.stage_id = ? AND l.experiment_id <> ? AND e.deleted = 0");
  s.bind(id, except);
  return collect<std::string>(s, first_text);
}

std::set<StageId> SqliteRows::dependents(StageId id) {
  auto s = db_.prepare("SELECT stage_id FROM stage_input WHERE from_stage_id = ?");
  s.bind(id);
  return collect<StageId>(s, first_integer);
}

std::set<StageId> SqliteRows::sources(StageId id) {
  auto s = db_.prepare("SELECT from_stage_id FROM stage_input WHERE stage_id = ? AND from_stage_id IS NOT NULL");
  s.bind(id);
  return collect<StageId>(s, first_integer);
}

std::set<StageId> SqliteRows::running_stages(ExperimentId id) {
  auto s = db_.prepare(
      "SELECT DISTINCT a.stage_id FROM attempt a JOIN trial_stage l ON l.stage_id = a.stage_id "
      "WHERE a.state = 'running' AND l.experiment_id = ?");
  s.bind(id);
  return collect<StageId>(s, first_integer);
}

bool SqliteRows::linked_beyond(StageId id, ExperimentId experiment, std::int64_t trial) {
  return db_
      .prepare(
          "SELECT 1 WHERE EXISTS (SELECT 1 FROM trial_stage WHERE stage_id = ?1 AND experiment_id = ?2 AND trial > ?3) "
          "OR EXISTS (SELECT 1 FROM trial_stage WHERE stage_id = ?1 AND experiment_id < ?2) "
          "OR EXISTS (SELECT 1 FROM trial_stage WHERE stage_id = ?1 AND experiment_id > ?2)")
      .bind(id, experiment, trial)
      .step();
}

std::vector<std::int64_t> SqliteRows::first_trials(ExperimentId id, int limit) {
  auto s = db_.prepare("SELECT ordinal FROM trial WHERE experiment_id = ? ORDER BY ordinal LIMIT ?");
  s.bind(id, limit);
  std::vector<std::int64_t> out;
  while (s.step()) out.push_back(s.integer(0));
  return out;
}

std::set<StageId> SqliteRows::stages_of_trial(ExperimentId id, std::int64_t ordinal) {
  auto s = db_.prepare("SELECT stage_id FROM trial_stage WHERE experiment_id = ? AND trial = ?");
  s.bind(id, ordinal);
  return collect<StageId>(s, first_integer);
}

void SqliteRows::remember_deletion(std::int64_t attempts) {
  db_.prepare(
         "INSERT INTO remembered (name, value) SELECT 'experiment', COALESCE(MAX(id), 0) + 1 FROM experiment "
         "WHERE true ON CONFLICT (name) DO UPDATE SET value = MAX(value, excluded.value)")
      .run();
  db_.prepare(
         "INSERT INTO remembered (name, value) SELECT 'stage', COALESCE(MAX(id), 0) + 1 FROM stage "
         "WHERE true ON CONFLICT (name) DO UPDATE SET value = MAX(value, excluded.value)")
      .run();
  db_.prepare(
         "INSERT INTO remembered (name, value) VALUES ('attempts', ?) "
         "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value")
      .bind(attempts)
      .run();
}

// No experiment a person names holds a slash; as cancelled no query of what is live finds it.
void SqliteRows::hide_experiment(ExperimentId id) {
  db_.prepare("DELETE FROM idempotency WHERE experiment = (SELECT name FROM experiment WHERE id = ?)").bind(id).run();
  db_.prepare("UPDATE experiment SET deleted = 1, name = '/' || id, state = 'cancelled' WHERE id = ?").bind(id).run();
}

std::optional<ExperimentId> SqliteRows::hidden_experiment() {
  auto s = db_.prepare("SELECT id FROM experiment WHERE deleted = 1 ORDER BY id LIMIT 1");
  if (!s.step()) return std::nullopt;
  return s.integer(0);
}

void SqliteRows::erase_trials(ExperimentId id, std::int64_t last) {
  db_.prepare("DELETE FROM trial_stage WHERE experiment_id = ? AND trial <= ?").bind(id, last).run();
  db_.prepare("DELETE FROM trial WHERE experiment_id = ? AND ordinal <= ?").bind(id, last).run();
}

int SqliteRows::erase_cells(ExperimentId id, int limit) {
  auto s = db_.prepare(
      "DELETE FROM cell WHERE experiment_id = ?1 AND ordinal IN "
      "(SELECT ordinal FROM cell WHERE experiment_id = ?1 ORDER BY ordinal LIMIT ?2) RETURNING ordinal");
  s.bind(id, limit);
  int gone = 0;
  while (s.step()) ++gone;
  return gone;
}

void SqliteRows::erase_experiment(ExperimentId id) {
  db_.prepare("DELETE FROM alert WHERE experiment_id = ?").bind(id).run();
  db_.prepare("DELETE FROM search WHERE experiment_id = ?").bind(id).run();
  db_.prepare("DELETE FROM foreign_series WHERE experiment_id = ?").bind(id).run();
  db_.prepare("DELETE FROM foreign_import WHERE experiment_id = ?").bind(id).run();
  db_.prepare("DELETE FROM experiment WHERE id = ?").bind(id).run();
}

void SqliteRows::erase_stages(const std::vector<StageId>& ids) {
  for (const StageId id : ids) db_.prepare("DELETE FROM stage_input WHERE stage_id = ?").bind(id).run();
  for (const StageId id : ids) {
    db_.prepare("DELETE FROM point_log WHERE stage_id = ?").bind(id).run();
    db_.prepare(
           "DELETE FROM pyramid WHERE chunk_id IN "
           "(SELECT c.id FROM chunk c JOIN series s ON s.id = c.series_id WHERE s.stage_id = ?)")
        .bind(id)
        .run();
    db_.prepare("DELETE FROM chunk WHERE series_id IN (SELECT id FROM series WHERE stage_id = ?)").bind(id).run();
    db_.prepare("DELETE FROM series WHERE stage_id = ?").bind(id).run();
    db_.prepare("DELETE FROM result WHERE stage_id = ?").bind(id).run();
    db_.prepare("DELETE FROM stage_output WHERE stage_id = ?").bind(id).run();
    db_.prepare("DELETE FROM checkpoint WHERE stage_id = ?").bind(id).run();
    db_.prepare("DELETE FROM attempt_log WHERE stage_id = ?").bind(id).run();
    db_.prepare("DELETE FROM attempt WHERE stage_id = ?").bind(id).run();
    auto config = db_.prepare("DELETE FROM stage WHERE id = ? RETURNING config_hash");
    config.bind(id).step();
    const std::string hash = config.text(0);
    config.run();
    db_.prepare("DELETE FROM config WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM stage WHERE config_hash = ?1)")
        .bind(hash)
        .run();
  }
}

}  // namespace locus::sqlite

// Reads of what comes and goes: deletions, logs, artifacts, damage.
#include <algorithm>

#include "core/limits.h"
#include "storage/rules/deletion.h"
#include "storage/rules/refusals.h"
#include "storage/rules/writes.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/identity_rows.h"
#include "storage/sqlite/queries.h"
#include "storage/sqlite/rows.h"

namespace locus::sqlite {

absl::StatusOr<Deletion> find_deletion(Connection& db, ExperimentId id) {
  SqliteRows rows(db);
  if (!rows.experiment(id)) return refusal::experiment_not_found(id);
  return plan_deletion(rows, id);
}

Purge find_purge(Connection& db, int trials) {
  SqliteRows rows(db);
  const PurgePlan plan = plan_purge(rows, trials);
  return {plan.experiment != 0, plan.stages, plan.artifacts};
}

std::vector<AttemptRow> list_attempts_of_worker(Connection& db, WorkerId id, int limit) {
  auto s = db.prepare("SELECT " LOCUS_ATTEMPT_COLUMNS
                      " FROM attempt WHERE worker_id = ? "
                      "ORDER BY started_us DESC, stage_id DESC, number DESC LIMIT ?");
  s.bind(id, std::max(limit, 0));
  std::vector<AttemptRow> out;
  while (s.step()) out.push_back(read_attempt(s));
  return out;
}

absl::StatusOr<LogView> find_log(Connection& db, StageId id, std::int64_t attempt, std::int64_t offset,
                                 std::int64_t most) {
  SqliteRows rows(db);
  if (!rows.stage(id)) return refusal::stage_not_found(id);
  const auto row = rows.attempt(id, attempt);
  if (!row) return refusal::attempt_not_found(id, attempt);
  LogView out{std::clamp<std::int64_t>(offset, 0, row->log_bytes), row->log_bytes, ""};
  const std::int64_t oldest = std::max<std::int64_t>(0, row->log_bytes - kLogBytes);
  out.offset = std::max(out.offset, oldest);
  auto s = db.prepare(
      "SELECT first_offset, text FROM attempt_log WHERE stage_id = ? AND number = ? "
      "AND first_offset + length(text) > ? ORDER BY first_offset");
  s.bind(id, attempt, out.offset);
  while (static_cast<std::int64_t>(out.text.size()) < most && s.step()) {
    const std::int64_t next = out.offset + static_cast<std::int64_t>(out.text.size());
    out.text += s.blob(1).substr(static_cast<std::size_t>(next - s.integer(0)));
  }
  if (static_cast<std::int64_t>(out.text.size()) > most)
    out.text.resize(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)));
  return out;
}

std::vector<ArtifactView> list_artifacts(Connection& db, const std::string& after, int limit) {
  auto s = db.prepare("SELECT " LOCUS_ARTIFACT_COLUMNS
                      ", EXISTS (SELECT 1 FROM checkpoint c WHERE c.sha256 = a.sha256) "
                      "OR EXISTS (SELECT 1 FROM stage_output o WHERE o.sha256 = a.sha256) "
                      "OR EXISTS (SELECT 1 FROM stage_input i WHERE i.artifact_sha256 = a.sha256) "
                      "OR EXISTS (SELECT 1 FROM attempt t WHERE t.state = 'running' AND t.resume_sha256 = a.sha256) "
                      "FROM artifact a WHERE sha256 > ? ORDER BY sha256 LIMIT ?");
  s.bind(after, std::max(limit, 0));
  std::vector<ArtifactView> out;
  while (s.step()) out.push_back({read_artifact(s), s.integer(6) != 0});
  return out;
}

// A stage with one checkpoint may have one to spare too: when it has succeeded with another output.
std::vector<StageId> list_stages_to_release(Connection& db, StageId after, int limit) {
  SqliteRows rows(db);
  auto s = db.prepare("SELECT DISTINCT stage_id FROM checkpoint WHERE stage_id > ? ORDER BY stage_id");
  s.bind(after);
  std::vector<StageId> out;
  while (static_cast<int>(out.size()) < limit && s.step()) {
    if (!spare_checkpoints(rows, *rows.stage(s.integer(0))).empty()) out.push_back(s.integer(0));
  }
  return out;
}

std::vector<std::string> list_problems(Connection& db) {
  std::vector<std::string> out;
  auto integrity = db.prepare("PRAGMA integrity_check(100)");
  while (integrity.step()) {
    if (integrity.text(0) != "ok") out.push_back(integrity.text(0));
  }
  auto foreign = db.prepare("PRAGMA foreign_key_check");
  while (foreign.step() && out.size() < 200) {
    out.push_back("a row of " + foreign.text(0) + " refers to a missing row of " + foreign.text(2));
  }
  for (std::string& problem : list_search_problems(db)) out.push_back(std::move(problem));
  for (std::string& problem : list_audit_problems(db)) out.push_back(std::move(problem));
  return out;
}

}  // namespace locus::sqlite

// The rules' view of the tables, and the reads, of searches, their logs and stop points.
#include <limits>

#include "storage/rules/refusals.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/queries.h"
#include "storage/sqlite/rows.h"

namespace locus::sqlite {
namespace {

constexpr std::int64_t kSearchSchema = 9;  // the first that has searches

#define LOCUS_SEARCH_COLUMNS "s.experiment_id, s.generation, s.decided, s.state, s.reason"
SearchRow read_search(const Statement& s) {
  return {s.integer(0), s.integer(1), s.integer(2), parse_word(s, 3, parse_search_state), s.text(4)};
}

DecisionRow read_decision(const Statement& s) {
  return {s.integer(0), s.integer(1), s.integer(2), s.text(3), s.text(4), s.text(5), static_cast<int>(s.integer(6)),
          s.text(7),    s.text(8),    s.integer(9)};
}

bool has_shown_experiment(Connection& db, ExperimentId id) {
  return db.prepare("SELECT 1 FROM experiment WHERE id = ? AND deleted = 0").bind(id).step();
}

}  // namespace

std::map<std::string, std::int64_t> SqliteRows::positions(ExperimentId experiment, std::int64_t trial) {
  auto s = db_.prepare("SELECT role, position FROM trial_stage WHERE experiment_id = ? AND trial = ?");
  s.bind(experiment, trial);
  std::map<std::string, std::int64_t> out;
  while (s.step()) out[s.text(0)] = s.integer(1);
  return out;
}

std::optional<SearchRow> SqliteRows::search(ExperimentId id) {
  auto s = db_.prepare("SELECT " LOCUS_SEARCH_COLUMNS " FROM search s WHERE s.experiment_id = ?");
  if (!s.bind(id).step()) return std::nullopt;
  return read_search(s);
}

void SqliteRows::put_search(const SearchRow& row) {
  db_.prepare(
         "INSERT INTO search (experiment_id, generation, decided, state, reason) VALUES (?, ?, ?, ?, ?) "
         "ON CONFLICT (experiment_id) DO UPDATE SET generation = excluded.generation, decided = excluded.decided, "
         "state = excluded.state, reason = excluded.reason")
      .bind(row.experiment_id, row.generation, row.decided, to_string(row.state), row.reason)
      .run();
}

void SqliteRows::put_decision(ExperimentId id, const DecisionRow& row) {
  db_.prepare(
         "INSERT INTO decision (experiment_id, number, generation, phase, kind, json, rule, rule_revision, principal, "
         "request_id, time_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(id, row.number, row.generation, row.phase, row.kind, row.json, row.rule, row.rule_revision, row.principal,
            row.request_id, row.time_us)
      .run();
}

bool SqliteRows::has_decision_of_request(const std::string& request_id) {
  return db_.prepare("SELECT 1 FROM decision WHERE request_id = ? AND request_id <> ''").bind(request_id).step();
}

std::vector<std::int64_t> SqliteRows::live_wants(StageId id) {
  auto s = db_.prepare(
      "SELECT l.until_step FROM trial_stage l JOIN trial t ON t.experiment_id = l.experiment_id AND t.ordinal = "
      "l.trial "
      "JOIN experiment e ON e.id = l.experiment_id "
      "WHERE l.stage_id = ? AND t.retired = 0 AND e.state IN ('active', 'paused')");
  s.bind(id);
  std::vector<std::int64_t> out;
  while (s.step()) out.push_back(s.integer(0));
  return out;
}

int SqliteRows::erase_decisions(ExperimentId id, int limit) {
  auto s = db_.prepare(
      "DELETE FROM decision WHERE experiment_id = ?1 AND number IN "
      "(SELECT number FROM decision WHERE experiment_id = ?1 ORDER BY number DESC LIMIT ?2) RETURNING number");
  s.bind(id, limit);
  int gone = 0;
  while (s.step()) ++gone;
  return gone;
}

absl::StatusOr<SearchRow> find_search(Connection& db, ExperimentId id) {
  if (!has_shown_experiment(db, id)) return refusal::experiment_not_found(id);
  auto row = SqliteRows(db).search(id);
  if (!row) return refusal::search_not_found(id);
  return *std::move(row);
}

std::vector<SearchRow> list_running_searches(Connection& db) {
  auto s = db.prepare("SELECT " LOCUS_SEARCH_COLUMNS
                      " FROM search s JOIN experiment e ON e.id = s.experiment_id "
                      "WHERE s.state = 'running' AND e.deleted = 0 ORDER BY s.experiment_id");
  std::vector<SearchRow> out;
  while (s.step()) out.push_back(read_search(s));
  return out;
}

absl::StatusOr<std::vector<DecisionRow>> list_decisions(Connection& db, ExperimentId id, std::int64_t after,
                                                        int limit) {
  if (!has_shown_experiment(db, id)) return refusal::experiment_not_found(id);
  auto s = db.prepare(
      "SELECT number, generation, phase, kind, json, rule, rule_revision, principal, request_id, time_us FROM decision "
      "WHERE experiment_id = ? AND number > ? ORDER BY number LIMIT ?");
  s.bind(id, after, limit > 0 ? limit : -1);  // -1: all
  std::vector<DecisionRow> out;
  while (s.step()) out.push_back(read_decision(s));
  return out;
}

absl::StatusOr<std::pair<ExperimentId, std::int64_t>> find_decision_of_request(Connection& db,
                                                                               const std::string& request_id) {
  auto s = db.prepare(
      "SELECT d.experiment_id, d.number FROM decision d JOIN experiment e ON e.id = d.experiment_id "
      "WHERE d.request_id = ? AND d.request_id <> '' AND e.deleted = 0");
  if (!s.bind(request_id).step()) return refusal::request_not_found(request_id);
  return std::pair(s.integer(0), s.integer(1));
}

// What a deleted experiment leaves is taken away piece by piece, its log from the end.
std::vector<std::string> list_search_problems(Connection& db) {
  std::vector<std::string> out;
  if (db.number("PRAGMA user_version") < kSearchSchema) return out;
  auto logs = db.prepare(
      "SELECT s.experiment_id, s.decided, COUNT(d.number), COALESCE(MIN(d.number), 1), COALESCE(MAX(d.number), 0) "
      "FROM search s JOIN experiment e ON e.id = s.experiment_id "
      "LEFT JOIN decision d ON d.experiment_id = s.experiment_id WHERE e.deleted = 0 GROUP BY s.experiment_id");
  while (logs.step() && out.size() < 100) {
    const std::string log = "the log of the search of experiment " + logs.text(0);
    const std::int64_t last = logs.integer(4);
    if (logs.integer(2) != last || logs.integer(3) != 1)
      out.push_back(log + " has " + logs.text(2) + " decisions up to number " + logs.text(4) + ": some are missing");
    if (logs.integer(1) != last)
      out.push_back(log + " ends at number " + logs.text(4) + ", its search has it as " + logs.text(1));
  }
  auto parked = db.prepare(
      "SELECT s.id, s.attempt, a.state FROM stage s JOIN attempt a ON a.stage_id = s.id AND a.number = s.attempt "
      "WHERE s.state = 'parked' AND a.state IN ('running', 'succeeded')");
  while (parked.step() && out.size() < 200) {
    out.push_back("stage " + parked.text(0) + " is parked, but its newest attempt, " + parked.text(1) + ", is " +
                  parked.text(2));
  }
  return out;
}

}  // namespace locus::sqlite

// How rows of the model are read from result columns: the column lists and their readers stand side by side.
#pragma once

#include <sqlite3.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/experiment/model.h"
#include "storage/sqlite/connection.h"

namespace locus::sqlite {

// A word of the database as its enumerator; a word nobody writes means damage.
template <class Parse>
auto parse_word(const Statement& s, int column, Parse parse) {
  const auto value = parse(s.text(column));
  if (!value) throw SqliteError(SQLITE_CORRUPT, "unknown word '" + s.text(column) + "' in a state column");
  return *value;
}

#define LOCUS_EXPERIMENT_COLUMNS                                                                               \
  "id, name, owner, spec_json, revision, state, priority, catalog_digest, created_us, reason, stage_seconds, " \
  "class, placement"
inline ExperimentRow read_experiment(const Statement& s) {
  return {s.integer(0),
          s.text(1),
          s.text(2),
          s.text(3),
          s.integer(4),
          parse_word(s, 5, parse_experiment_state),
          static_cast<int>(s.integer(6)),
          s.text(7),
          s.integer(8),
          s.text(9),
          s.integer(10),
          parse_word(s, 11, parse_service_class),
          s.text(12)};
}

// From stage s JOIN config c; without inputs and outputs.
#define LOCUS_STAGE_COLUMNS                                                                               \
  "s.id, s.identity, s.kind, c.json, s.seed, s.state, s.failure_class, s.reason, s.attempt, s.failures, " \
  "s.faults, "                                                                                            \
  "s.retry_delay_us, s.requirement_id, r.revisions, r.exclusive, r.memory_bytes"
#define LOCUS_STAGE_JOINS " JOIN config c ON c.hash = s.config_hash LEFT JOIN requirement r ON r.id = s.requirement_id "
#define LOCUS_STAGE_TABLES " FROM stage s" LOCUS_STAGE_JOINS

// Reads stages of one query; those that ask the same share what they ask.
class StageReader {
 public:
  StageRow read(const Statement& s, int at = 0);

 private:
  RequirementsPtr requirements(const Statement& s, int at);
  std::map<std::int64_t, RequirementsPtr> known_;  // by row
};

inline RequirementsPtr StageReader::requirements(const Statement& s, int at) {
  if (s.integer(at) == 0) return nullptr;
  RequirementsPtr& known = known_[s.integer(at)];
  if (known) return known;
  StageRequirements read;
  const Json revisions = Json::parse(s.text(at + 1), nullptr, false);
  if (!revisions.is_object()) throw SqliteError(SQLITE_CORRUPT, "the revisions of a requirement are no JSON object");
  for (const auto& [item, revision] : revisions.items()) {
    if (!revision.is_number_integer()) throw SqliteError(SQLITE_CORRUPT, "the revision of " + item + " is no integer");
    read.revisions[item] = revision.get<int>();
  }
  read.exclusive = s.integer(at + 2) != 0;
  read.memory_bytes = s.integer(at + 3);
  return known = std::make_shared<const StageRequirements>(std::move(read));
}

inline StageRow StageReader::read(const Statement& s, int at) {
  StageRow row;
  row.id = s.integer(at);
  row.identity = s.text(at + 1);
  row.kind = s.text(at + 2);
  row.config_json = s.text(at + 3);
  row.seed = s.integer(at + 4);
  row.state = parse_word(s, at + 5, parse_stage_state);
  row.failure_class = parse_word(s, at + 6, parse_failure_class);
  row.reason = s.text(at + 7);
  row.attempt = s.integer(at + 8);
  row.failures = static_cast<int>(s.integer(at + 9));
  row.faults = static_cast<int>(s.integer(at + 10));
  row.retry_delay_us = s.integer(at + 11);
  row.requirements = requirements(s, at + 12);
  return row;
}

#define LOCUS_ATTEMPT_COLUMNS                                                                        \
  "stage_id, number, worker_id, session, state, failure_class, reason, resume_step, resume_sha256, " \
  "acked_seq, "                                                                                      \
  "started_us, ended_us, environment_json, slots, log_bytes, until_step, class, accounts"
inline AttemptRow read_attempt(const Statement& s) {
  AttemptRow row;
  row.stage_id = s.integer(0);
  row.number = s.integer(1);
  row.worker_id = s.integer(2);
  row.session = s.text(3);
  row.state = parse_word(s, 4, parse_attempt_state);
  row.failure_class = parse_word(s, 5, parse_failure_class);
  row.reason = s.text(6);
  row.resume_step = s.integer(7);
  row.resume_sha256 = s.text(8);
  row.acked_seq = s.integer(9);
  row.started_us = s.integer(10);
  row.ended_us = s.integer(11);
  row.environment_json = s.text(12);
  const Json slots = Json::parse(s.text(13), nullptr, false);
  for (const Json& slot : slots) {
    if (slot.is_number_integer()) row.slots.push_back(slot.get<int>());
  }
  row.log_bytes = s.integer(14);
  row.until_step = s.integer(15);
  row.service_class = parse_word(s, 16, parse_service_class);
  const Json accounts = Json::parse(s.text(17), nullptr, false);
  for (const Json& account : accounts) {
    if (account.is_string()) row.accounts.push_back(account.get<std::string>());
  }
  return row;
}

#define LOCUS_CHECKPOINT_COLUMNS "stage_id, number, step, sha256, is_best"
inline CheckpointRow read_checkpoint(const Statement& s) {
  return {s.integer(0), s.integer(1), s.integer(2), s.text(3), s.integer(4) != 0};
}

#define LOCUS_ARTIFACT_COLUMNS "sha256, kind, uri, bytes, pinned, created_us"
inline ArtifactRow read_artifact(const Statement& s) {
  return {s.text(0), s.text(1), s.text(2), s.integer(3), s.integer(4) != 0, s.integer(5)};
}

#define LOCUS_WORKER_COLUMNS                                                                                          \
  "id, name, session, host, version, slots_json, catalog_digest, state, seen_us, drain, reason, instance, since_us, " \
  "data_json, forgotten, labels_json, drain_from_us"
inline WorkerRow read_worker(const Statement& s) {
  if (s.integer(9) < 0 || s.integer(9) > 2) throw SqliteError(SQLITE_CORRUPT, "unknown drain of a worker");
  return {s.integer(0),       s.text(1),
          s.text(2),          s.text(3),
          s.text(4),          s.text(5),
          s.text(6),          parse_word(s, 7, parse_worker_state),
          s.integer(8),       static_cast<Drain>(s.integer(9)),
          s.text(10),         s.text(11),
          s.integer(12),      s.text(13),
          s.integer(14) != 0, s.text(15),
          s.integer(16)};
}

// Doubles as text that reads back to the same double. SQLite would turn NaN into NULL and -0 into 0.
inline std::string double_to_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}
inline double double_from_text(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw SqliteError(SQLITE_CORRUPT, "'" + text + "' is not a number");
  }
  return value;
}

#define LOCUS_RESULT_COLUMNS "r.metric, r.split, r.labels, r.reducer, r.value, r.step"
inline Result read_result(const Statement& s, int at = 0) {
  return {{s.text(at), s.text(at + 1), s.text(at + 2)},
          s.text(at + 3),
          double_from_text(s.text(at + 4)),
          s.integer(at + 5)};
}

}  // namespace locus::sqlite

// The tables as maps: who names what, logs, and taking rows out.
#include <algorithm>
#include <limits>

#include "core/limits.h"
#include "storage/memory/tables.h"

namespace locus {
namespace {

// Erases rows of the table from this key on while `goes` says so of theirs.
template <class Key, class Row, class Goes>
void erase_while(Table<Key, Row>& table, const Key& from, Goes goes) {
  std::vector<Key> keys;
  const auto& rows = table.rows();
  for (auto at = rows.lower_bound(from); at != rows.end() && goes(at->first); ++at) keys.push_back(at->first);
  for (const Key& key : keys) table.erase(key);
}

}  // namespace

void MemoryTables::erase_artifact(const std::string& sha256) { artifacts.erase(sha256); }

std::set<StageId> MemoryTables::stages_naming(const std::string& sha256) {
  std::set<StageId> out;
  for (const auto& [key, row] : checkpoint_rows.rows()) {
    if (row.sha256 == sha256) out.insert(row.stage_id);
  }
  for (const auto& [id, row] : stages.rows()) {
    const bool made = std::any_of(row.outputs.begin(), row.outputs.end(),
                                  [&](const StageOutput& output) { return output.sha256 == sha256; });
    const bool taken = std::any_of(row.inputs.begin(), row.inputs.end(),
                                   [&](const StageInput& input) { return input.artifact_sha256 == sha256; });
    if (made || taken) out.insert(id);
  }
  for (const auto& [key, row] : attempts_by_key.rows()) {
    if (row.state == AttemptState::kRunning && row.resume_sha256 == sha256) out.insert(row.stage_id);
  }
  return out;
}

std::set<std::string> MemoryTables::artifacts_named_by(StageId id) {
  std::set<std::string> out;
  for (const CheckpointRow& row : checkpoints_of(id)) out.insert(row.sha256);
  for (const StageOutput& output : stages.find(id)->outputs) out.insert(output.sha256);
  return out;
}

void MemoryTables::erase_checkpoint(const CheckpointRow& row) {
  checkpoint_rows.erase({row.stage_id, row.attempt, row.step});
}

std::vector<StageOutput> MemoryTables::outputs_of(StageId id) { return stages.find(id)->outputs; }

void MemoryTables::append_log(const AttemptRow& attempt, const std::string& text) {
  const AttemptKey key{attempt.stage_id, attempt.number};
  const Log* known = logs.find(key);
  Log log = known ? *known : Log{};
  log.text += text;
  if (const auto size = static_cast<std::int64_t>(log.text.size()); size > kLogBytes) {
    log.text.erase(0, static_cast<std::size_t>(size - kLogBytes));
    log.first_offset += size - kLogBytes;
  }
  logs.put(key, std::move(log));
  AttemptRow moved = *attempts_by_key.find(key);
  moved.log_bytes += static_cast<std::int64_t>(text.size());
  put_attempt(moved);
}

std::int64_t MemoryTables::trial_count(ExperimentId id) {
  const auto& rows = trials.rows();
  return std::distance(rows.lower_bound({id, kFirst}), rows.lower_bound({id + 1, kFirst}));
}

std::set<StageId> MemoryTables::linked_stages(ExperimentId id) {
  std::set<StageId> out;
  const auto& rows = links.rows();
  for (auto at = rows.lower_bound({id, kFirst, ""}); at != rows.end() && std::get<0>(at->first) == id; ++at)
    out.insert(at->second.stage_id);
  return out;
}

std::set<std::string> MemoryTables::others_linking(StageId id, ExperimentId except) {
  std::set<std::string> out;
  for (const auto& [key, link] : links.rows()) {
    const ExperimentRow* row = experiments.find(std::get<0>(key));
    if (link.stage_id == id && std::get<0>(key) != except && row != nullptr) out.insert(row->name);
  }
  return out;
}

std::set<StageId> MemoryTables::dependents(StageId id) {
  std::set<StageId> out;
  for (const auto& [stage, row] : stages.rows()) {
    for (const StageInput& input : row.inputs) {
      if (input.from_stage == id) out.insert(stage);
    }
  }
  return out;
}

std::set<StageId> MemoryTables::sources(StageId id) {
  std::set<StageId> out;
  for (const StageInput& input : stages.find(id)->inputs) {
    if (input.from_stage != 0) out.insert(input.from_stage);
  }
  return out;
}

std::set<StageId> MemoryTables::running_stages(ExperimentId id) {
  std::set<StageId> out = linked_stages(id);
  std::erase_if(out, [&](StageId stage) { return stages.find(stage)->state != StageState::kRunning; });
  return out;
}

bool MemoryTables::linked_beyond(StageId id, ExperimentId experiment, std::int64_t trial) {
  return std::any_of(links.rows().begin(), links.rows().end(), [&](const auto& entry) {
    const bool before = std::get<0>(entry.first) == experiment && std::get<1>(entry.first) <= trial;
    return entry.second.stage_id == id && !before;
  });
}

std::vector<std::int64_t> MemoryTables::first_trials(ExperimentId id, int limit) {
  std::vector<std::int64_t> out;
  const auto& rows = trials.rows();
  for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first.first == id; ++at) {
    if (static_cast<int>(out.size()) >= limit) break;
    out.push_back(at->first.second);
  }
  return out;
}

std::set<StageId> MemoryTables::stages_of_trial(ExperimentId id, std::int64_t ordinal) {
  std::set<StageId> out;
  for (const TrialStageRow& link : links_of(id, ordinal)) out.insert(link.stage_id);
  return out;
}

std::int64_t MemoryTables::next_id_of(const std::string& name, std::int64_t next) const {
  const std::int64_t* known = remembered.find(name);
  return std::max(next, known ? *known : 0);
}

void MemoryTables::remember_deletion(std::int64_t attempts) {
  remembered.put("experiment", next_id_of("experiment", experiments.next_id()));
  remembered.put("stage", next_id_of("stage", stages.next_id()));
  remembered.put("attempts", attempts + next_id_of("attempts", 0));
}

void MemoryTables::hide_experiment(ExperimentId id) {
  const std::string name = experiments.find(id)->name;
  std::vector<std::string> made;
  for (const auto& [request, experiment] : requests.rows()) {
    if (experiment == name) made.push_back(request);
  }
  for (const std::string& request : made) requests.erase(request);
  erase_metadata_of(id);
  experiment_names.erase(name);
  hidden.put(id, *experiments.find(id));
  experiments.erase(id);
}

std::optional<ExperimentId> MemoryTables::hidden_experiment() {
  if (hidden.rows().empty()) return std::nullopt;
  return hidden.rows().begin()->first;
}

void MemoryTables::erase_trials(ExperimentId id, std::int64_t last) {
  const auto up_to = [&](const auto& key) { return std::get<0>(key) == id && std::get<1>(key) <= last; };
  erase_while(links, {id, kFirst, ""}, up_to);
  erase_while(trials, {id, kFirst}, up_to);
}

int MemoryTables::erase_cells(ExperimentId id, int limit) {
  int gone = 0;
  erase_while(cells, {id, kFirst}, [&](const auto& key) { return key.first == id && gone < limit && ++gone > 0; });
  return gone;
}

void MemoryTables::erase_experiment(ExperimentId id) {
  searches.erase(id);
  hidden.erase(id);
}

void MemoryTables::erase_stages(const std::vector<StageId>& ids) {
  for (const StageId id : ids) {
    for (const AttemptRow& attempt : attempts_of(id)) {
      const AttemptKey key{id, attempt.number};
      if (const auto stored = points.find(key); stored != points.end()) {
        journal.add([this, key, before = std::move(stored->second)] { points[key] = before; });
        points.erase(stored);
      }
      logs.erase(key);
      erase_samples(id, attempt.number);
      attempts_by_key.erase(key);
    }
    for (const CheckpointRow& row : checkpoints_of(id)) erase_checkpoint(row);
    std::vector<std::pair<StageId, SeriesKey>> keys;
    const auto& rows = series_ids.rows();
    for (auto at = rows.lower_bound({id, {"", "", ""}}); at != rows.end() && at->first.first == id; ++at)
      keys.push_back(at->first);
    for (const auto& key : keys) {
      series_rows.erase(*series_ids.find(key));
      series_ids.erase(key);
    }
    results.erase(id);
    identities.erase(stages.find(id)->identity);
    stages.erase(id);
  }
}

}  // namespace locus

// The tables as maps.
#include "storage/memory/tables.h"

#include <algorithm>
#include <limits>

namespace locus {
namespace {

template <class Key, class Row>
std::optional<Row> copy(const Table<Key, Row>& table, const Key& key) {
  const Row* row = table.find(key);
  return row ? std::optional<Row>(*row) : std::nullopt;
}

// Replaces the item of equal slot, or adds it; slots stay sorted.
template <class Item>
void put_slot(std::vector<Item>& items, const Item& item) {
  const auto at =
      std::lower_bound(items.begin(), items.end(), item, [](const Item& a, const Item& b) { return a.slot < b.slot; });
  if (at != items.end() && at->slot == item.slot) {
    *at = item;
  } else {
    items.insert(at, item);
  }
}

}  // namespace

void MemoryTables::put_catalog(const std::string& digest, const std::string& json) {
  if (!catalogs.contains(digest)) catalogs.put(digest, json);
}

void MemoryTables::put_extension(const ExtensionRow& row) { extensions.put(row.name, row); }

void MemoryTables::erase_extension(const std::string& name) { extensions.erase(name); }

std::optional<ExperimentRow> MemoryTables::experiment(ExperimentId id) { return copy(experiments, id); }

std::optional<ExperimentRow> MemoryTables::experiment(const std::string& name) {
  const ExperimentId* id = experiment_names.find(name);
  return id ? copy(experiments, *id) : std::nullopt;
}

void MemoryTables::put_experiment(const ExperimentRow& row) {
  experiments.put(row.id, row);
  experiment_names.put(row.name, row.id);
}

bool MemoryTables::has_cell(ExperimentId experiment, std::int64_t ordinal) {
  return cells.contains({experiment, ordinal});
}
void MemoryTables::put_cell(ExperimentId experiment, const CellRow& row) { cells.put({experiment, row.ordinal}, row); }
bool MemoryTables::has_trial(ExperimentId experiment, std::int64_t ordinal) {
  return trials.contains({experiment, ordinal});
}
void MemoryTables::put_trial(ExperimentId experiment, const TrialRow& row) {
  trials.put({experiment, row.ordinal}, row);
}

void MemoryTables::put_trial_stage(ExperimentId experiment, const TrialStageRow& row, std::int64_t position) {
  links.put({experiment, row.trial, row.role}, {position, row.stage_id, row.until_step});
}
void MemoryTables::erase_trial_stage(ExperimentId experiment, std::int64_t trial, const std::string& role) {
  links.erase({experiment, trial, role});
}

std::optional<std::string> MemoryTables::request(const std::string& request_id) { return copy(requests, request_id); }
void MemoryTables::put_request(const std::string& request_id, const std::string& name, Microseconds) {
  requests.put(request_id, name);
}

std::optional<StageRow> MemoryTables::stage(StageId id) { return copy(stages, id); }
bool MemoryTables::has_identity(const std::string& identity) { return identities.contains(identity); }

void MemoryTables::insert_stage(const StageRow& row) {
  StageRow bare = row;
  bare.inputs.clear();
  stages.put(row.id, bare);
  identities.put(row.identity, row.id);
}

void MemoryTables::update_stage(const StageRow& row) {
  StageRow changed = *stages.find(row.id);
  changed.state = row.state;
  changed.failure_class = row.failure_class;
  changed.reason = row.reason;
  changed.attempt = row.attempt;
  changed.failures = row.failures;
  changed.faults = row.faults;
  changed.retry_delay_us = row.retry_delay_us;
  stages.put(row.id, std::move(changed));
}

bool MemoryTables::has_input(StageId id, const std::string& slot) {
  const auto& inputs = stages.find(id)->inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](const StageInput& input) { return input.slot == slot; });
}

void MemoryTables::put_input(StageId id, const StageInput& input) {
  StageRow row = *stages.find(id);
  put_slot(row.inputs, input);
  stages.put(id, std::move(row));
}

void MemoryTables::fill_input(StageId id, const std::string& slot, const std::string& sha256) {
  StageRow row = *stages.find(id);
  for (StageInput& input : row.inputs) {
    if (input.slot == slot) input.artifact_sha256 = sha256;
  }
  stages.put(id, std::move(row));
}

void MemoryTables::replace_results(StageId id, std::span<const Result> new_results) {
  std::map<std::pair<SeriesKey, std::string>, Result> by_key;
  for (const Result& result : new_results) by_key[{result.key, result.reducer}] = result;
  std::vector<Result> sorted;
  for (const auto& [key, result] : by_key) sorted.push_back(result);
  results.put(id, std::move(sorted));
}

void MemoryTables::replace_outputs(StageId id, std::span<const StageOutput> outputs) {
  StageRow row = *stages.find(id);
  row.outputs.clear();
  for (const StageOutput& output : outputs) put_slot(row.outputs, output);
  stages.put(id, std::move(row));
}

std::optional<AttemptRow> MemoryTables::attempt(StageId id, std::int64_t attempt) {
  return copy(attempts_by_key, AttemptKey{id, attempt});
}
void MemoryTables::put_attempt(const AttemptRow& row) { attempts_by_key.put({row.stage_id, row.number}, row); }

std::optional<CheckpointRow> MemoryTables::checkpoint(StageId id, std::int64_t attempt, std::int64_t step) {
  return copy(checkpoint_rows, std::tuple{id, attempt, step});
}
void MemoryTables::put_checkpoint(const CheckpointRow& row) {
  checkpoint_rows.put({row.stage_id, row.attempt, row.step}, row);
}
void MemoryTables::clear_best(StageId id) {
  for (CheckpointRow row : checkpoints_of(id)) {
    if (!row.best) continue;
    row.best = false;
    put_checkpoint(row);
  }
}

bool MemoryTables::has_artifact(const std::string& sha256) { return artifacts.contains(sha256); }
std::optional<ArtifactRow> MemoryTables::artifact(const std::string& sha256) { return copy(artifacts, sha256); }
void MemoryTables::put_artifact(const ArtifactRow& row) {
  ArtifactRow kept = copy(artifacts, row.sha256).value_or(row);
  kept.created_us = row.created_us;
  artifacts.put(row.sha256, std::move(kept));
}
void MemoryTables::set_pinned(const std::string& sha256, bool pinned) {
  ArtifactRow row = *artifacts.find(sha256);
  row.pinned = pinned;
  artifacts.put(sha256, std::move(row));
}
bool MemoryTables::has_worker(WorkerId id) { return workers.contains(id); }
std::string MemoryTables::session_of(WorkerId id) {
  const WorkerRow* row = workers.find(id);
  return row ? row->session : "";
}
std::optional<WorkerId> MemoryTables::worker_named(const std::string& name) {
  for (const auto& [id, row] : workers.rows()) {
    if (row.name == name) return id;
  }
  return std::nullopt;
}
void MemoryTables::put_worker(const WorkerRow& row) { workers.put(row.id, row); }

void MemoryTables::append_event(const std::string& subject, const std::string& kind, const std::string& json,
                                Microseconds now) {
  const std::int64_t id = events.next_id();
  events.put(id, {id, now, subject, kind, json});
}

std::optional<std::int64_t> MemoryTables::series(StageId id, const SeriesKey& key) {
  return copy(series_ids, std::pair{id, key});
}

std::int64_t MemoryTables::series_count(StageId id) {
  const auto& rows = series_ids.rows();
  return std::distance(rows.lower_bound({id, {"", "", ""}}), rows.lower_bound({id + 1, {"", "", ""}}));
}

std::int64_t MemoryTables::insert_series(StageId id, const SeriesKey& key) {
  const std::int64_t made = series_rows.next_id();
  series_rows.put(made, {made, id, key, 0});
  series_ids.put({id, key}, made);
  return made;
}

void MemoryTables::store_points(const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                                std::size_t skip, std::span<const std::int64_t> ids) {
  auto& stored = points[{attempt.stage_id, attempt.number}];
  for (std::size_t i = skip; i < batch.size(); ++i) {
    stored.push_back({ids[batch.series_index[i]],
                      {batch.step[i], batch.epoch[i], batch.images[i], batch.time_us[i], batch.value[i]}});
  }
  AttemptRow moved = attempt;
  moved.acked_seq = first_seq + static_cast<std::int64_t>(batch.size()) - 1;
  put_attempt(moved);
}

std::vector<AttemptRow> MemoryTables::attempts_of(StageId id) const {
  std::vector<AttemptRow> out;
  const auto& rows = attempts_by_key.rows();
  for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first.first == id; ++at)
    out.push_back(at->second);
  return out;
}

std::vector<CheckpointRow> MemoryTables::checkpoints_of(StageId id) const {
  std::vector<CheckpointRow> out;
  const auto& rows = checkpoint_rows.rows();
  for (auto at = rows.lower_bound({id, kFirst, kFirst}); at != rows.end() && at->second.stage_id == id; ++at) {
    out.push_back(at->second);
  }
  return out;
}

std::vector<TrialStageRow> MemoryTables::links_of(ExperimentId experiment, std::int64_t trial) const {
  std::vector<std::pair<std::int64_t, TrialStageRow>> found;
  const auto& rows = links.rows();
  for (auto at = rows.lower_bound({experiment, trial, ""}); at != rows.end(); ++at) {
    const auto& [in_experiment, in_trial, role] = at->first;
    if (in_experiment != experiment || in_trial != trial) break;
    found.push_back({at->second.position, {trial, role, at->second.stage_id, at->second.until_step}});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TrialStageRow> out;
  for (auto& [position, link] : found) out.push_back(std::move(link));
  return out;
}

std::set<StageId> MemoryTables::stages_of(ExperimentId experiment) const {
  std::set<StageId> out;
  const auto& rows = links.rows();
  for (auto at = rows.lower_bound({experiment, kFirst, ""}); at != rows.end() && std::get<0>(at->first) == experiment;
       ++at) {
    if (!trials.find({experiment, std::get<1>(at->first)})->retired) out.insert(at->second.stage_id);
  }
  return out;
}

std::vector<StageReference> MemoryTables::references_among(const std::function<bool(StageId)>& among) const {
  std::vector<StageReference> out;
  for (const auto& [key, link] : links.rows()) {
    const auto& [experiment, trial, role] = key;
    const TrialRow& row = *trials.find({experiment, trial});
    const ExperimentRow* in = experiments.find(experiment);  // none: it is deleted
    if (in == nullptr || in->state == ExperimentState::kCancelled || row.retired || !among(link.stage_id)) continue;
    out.push_back({experiment, link.stage_id, trial, row.cell, link.until_step});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.experiment, a.trial, a.stage) < std::tie(b.experiment, b.trial, b.stage);
  });
  return out;
}

std::vector<SeriesRow> MemoryTables::series_of(ExperimentId experiment) const {
  std::vector<SeriesRow> out;
  const auto& rows = series_ids.rows();
  for (const StageId stage : stages_of(experiment)) {
    for (auto at = rows.lower_bound({stage, {"", "", ""}}); at != rows.end() && at->first.first == stage; ++at)
      out.push_back({at->second, stage, at->first.second, 0});
  }
  return out;
}

std::vector<PastRun> MemoryTables::past_runs(const std::string& load, int limit) const {
  std::vector<PastRun> out;
  const auto& rows = stages.rows();
  for (auto at = rows.rbegin(); at != rows.rend() && static_cast<int>(out.size()) < limit; ++at) {
    const StageRow& stage = at->second;
    const AttemptRow* attempt = attempts_by_key.find({stage.id, stage.attempt});
    if (stage.state != StageState::kSucceeded || attempt == nullptr) continue;
    if (load_of(stage.kind, stage.config_json) != load) continue;
    out.push_back({stage.id, stage.config_json, attempt->environment_json, attempt->ended_us - attempt->started_us,
                   attempt->resume_step});
  }
  return out;
}

StageBriefs MemoryTables::briefs_of(ExperimentId experiment) const {
  StageBriefs out;
  for (auto at = trials.rows().lower_bound({experiment, kFirst}); at != trials.rows().end(); ++at) {
    if (at->first.first != experiment) break;
    const TrialRow& trial = at->second;
    if (trial.retired) continue;
    for (const TrialStageRow& link : links_of(experiment, trial.ordinal)) {
      const StageRow& stage = *stages.find(link.stage_id);
      StageBrief brief{trial.ordinal, trial.cell, trial.seed, stage.id, stage.kind, stage.state};
      if (brief.state == StageState::kSucceeded) {
        const std::string environment = attempts_of(stage.id).back().environment_json;
        auto& known = out.environments;
        brief.environment = static_cast<int>(std::find(known.begin(), known.end(), environment) - known.begin());
        if (brief.environment == static_cast<int>(known.size())) known.push_back(environment);
      }
      out.stages.push_back(std::move(brief));
    }
  }
  return out;
}

StageCounts MemoryTables::counts_of(ExperimentId id) const {
  StageCounts out;
  for (const StageId stage_id : stages_of(id)) {
    const StageRow& stage = *stages.find(stage_id);
    const bool succeeded = stage.state == StageState::kSucceeded;
    KindCounts& kind = out.by_kind[stage.kind];
    ++out.by_state[stage.state];
    ++kind.total;
    kind.succeeded += succeeded ? 1 : 0;
    for (const AttemptRow& attempt : attempts_of(stage_id)) {
      out.last_ended_us = std::max(out.last_ended_us, attempt.ended_us);
      if (succeeded && attempt.ended_us > 0) kind.busy_us += attempt.ended_us - attempt.started_us;
    }
  }
  const auto& rows = trials.rows();
  for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first.first == id; ++at) {
    if (at->second.retired) continue;
    const auto linked = links_of(id, at->first.second);
    const bool done = !linked.empty() && std::all_of(linked.begin(), linked.end(), [&](const TrialStageRow& link) {
      return link.until_step == kToTheEnd && stages.find(link.stage_id)->state == StageState::kSucceeded;
    });
    ++out.trials;
    out.trials_done += done ? 1 : 0;
  }
  return out;
}

std::vector<AttemptRow> MemoryTables::attempts_of_worker(WorkerId id, int limit) const {
  std::vector<AttemptRow> out;
  for (const auto& [key, row] : attempts_by_key.rows()) {
    if (row.worker_id == id) out.push_back(row);
  }
  std::stable_sort(out.begin(), out.end(), [](const AttemptRow& a, const AttemptRow& b) {
    return std::tie(b.started_us, b.stage_id, b.number) < std::tie(a.started_us, a.stage_id, a.number);
  });
  out.resize(std::min(out.size(), static_cast<std::size_t>(std::max(limit, 0))));
  return out;
}

}  // namespace locus

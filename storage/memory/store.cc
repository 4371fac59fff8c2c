// The store in memory.
#include "storage/memory/store.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>

#include "storage/memory/curves.h"
#include "storage/memory/tables.h"
#include "storage/rules/deletion.h"
#include "storage/rules/refusals.h"
#include "storage/rules/writes.h"

namespace locus {
namespace {

template <class T, class Key>
absl::StatusOr<T> found_or(const Table<Key, T>& table, const Key& key, absl::Status refused) {
  const T* row = table.find(key);
  if (!row) return refused;
  return *row;
}

template <class Key, class Row>
std::vector<Row> values(const Table<Key, Row>& table) {
  std::vector<Row> out;
  for (const auto& [key, row] : table.rows()) out.push_back(row);
  return out;
}

class MemoryStore final : public Store {
 public:
  absl::Status apply(std::span<const Mutation> mutations, Microseconds now_wall_us) override {
    const std::lock_guard writing(writing_);
    std::int64_t newest = 0;
    {
      const std::lock_guard lock(mutex_);
      if (absl::Status status = apply_mutations(tables_, mutations, now_wall_us); !status.ok()) {
        tables_.journal.roll_back();
        return status;
      }
      tables_.journal.keep();
      newest = tables_.events.next_id() - 1;
    }
    if (writes_events(mutations) && callback_) callback_(newest);
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> append(const PointAppend& append, Microseconds) override {
    const std::lock_guard writing(writing_);
    std::size_t stored = 0;
    std::int64_t newest = 0, acked = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto result = append_points(tables_, append, &stored);
      if (!result.ok()) {
        tables_.journal.roll_back();
        return result;
      }
      tables_.journal.keep();
      acked = *result;
      newest = tables_.events.next_id() - 1;
    }
    if (stored > 0 && callback_) callback_(newest);
    return acked;
  }

  void on_commit(std::function<void(std::int64_t)> callback) override {
    const std::lock_guard writing(writing_);
    callback_ = std::move(callback);
  }

  absl::StatusOr<Snapshot> load() override;
  absl::StatusOr<std::string> catalog(const std::string& digest) override {
    const std::lock_guard lock(mutex_);
    return found_or(tables_.catalogs, digest, refusal::catalog_not_found(digest));
  }
  absl::StatusOr<std::vector<ExtensionRow>> extensions() override { return all(tables_.extensions); }
  absl::StatusOr<ExperimentRow> experiment(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    auto row = tables_.experiment(name);
    if (!row) return refusal::experiment_not_found(name);
    return *row;
  }
  absl::StatusOr<ExperimentRow> experiment(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    return found_or(tables_.experiments, id, refusal::experiment_not_found(id));
  }
  absl::StatusOr<std::vector<ExperimentRow>> experiments(ExperimentId before, int limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<ExperimentRow> out;
    const auto& rows = tables_.experiments.rows();
    auto at = before == 0 ? rows.end() : rows.lower_bound(before);
    while (at != rows.begin() && static_cast<int>(out.size()) < limit) out.push_back((--at)->second);
    return out;
  }
  absl::StatusOr<std::string> experiment_of_request(const std::string& request_id) override {
    const std::lock_guard lock(mutex_);
    return found_or(tables_.requests, request_id, refusal::request_not_found(request_id));
  }
  absl::StatusOr<StageCounts> counts(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    return tables_.counts_of(id);
  }
  absl::StatusOr<std::vector<CellRow>> cells(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    std::vector<CellRow> out;
    const auto& rows = tables_.cells.rows();
    for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first.first == id; ++at)
      out.push_back(at->second);
    return out;
  }
  absl::StatusOr<std::vector<TrialView>> trials(ExperimentId id, std::int64_t after_ordinal, int limit) override;
  absl::StatusOr<std::map<std::string, StageRow>> stages_by_identity(std::span<const std::string> identities) override {
    const std::lock_guard lock(mutex_);
    std::map<std::string, StageRow> out;
    for (const std::string& identity : identities) {
      if (const StageId* id = tables_.identities.find(identity)) out.emplace(identity, *tables_.stages.find(*id));
    }
    return out;
  }
  absl::StatusOr<std::vector<PastRun>> past_runs(const std::string& load, int limit) override {
    const std::lock_guard lock(mutex_);
    return tables_.past_runs(load, limit);
  }
  absl::StatusOr<StageRow> stage(StageId id) override {
    const std::lock_guard lock(mutex_);
    return found_or(tables_.stages, id, refusal::stage_not_found(id));
  }
  absl::StatusOr<std::vector<AttemptRow>> attempts(StageId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.stages.contains(id)) return refusal::stage_not_found(id);
    return tables_.attempts_of(id);
  }
  absl::StatusOr<std::vector<CheckpointRow>> checkpoints(StageId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.stages.contains(id)) return refusal::stage_not_found(id);
    return tables_.checkpoints_of(id);
  }
  absl::StatusOr<std::vector<ResultView>> results(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    std::vector<ResultView> out;
    for (const StageId stage : tables_.stages_of(id)) {
      if (const auto* results = tables_.results.find(stage)) {
        for (const Result& result : *results) out.push_back({stage, result});
      }
    }
    return out;
  }
  absl::StatusOr<std::vector<ResultView>> results(ExperimentId id, const std::string& metric) override {
    auto out = results(id);
    if (out.ok()) std::erase_if(*out, [&](const ResultView& view) { return view.result.key.metric != metric; });
    return out;
  }
  absl::StatusOr<StageBriefs> briefs(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    return tables_.briefs_of(id);
  }
  absl::StatusOr<std::vector<StageReference>> references(StageId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.stages.contains(id)) return refusal::stage_not_found(id);
    return tables_.references_among([&](StageId stage) { return stage == id; });
  }
  absl::StatusOr<std::vector<Result>> stage_results(StageId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.stages.contains(id)) return refusal::stage_not_found(id);
    const auto* results = tables_.results.find(id);
    return results ? *results : std::vector<Result>();
  }
  absl::StatusOr<std::vector<SeriesRow>> series(StageId id) override;
  absl::StatusOr<std::vector<SeriesRow>> series_of(ExperimentId id) override;
  absl::StatusOr<SeriesPoints> points(StageId id, const SeriesKey& key, int max_points, StepRange range) override {
    const std::lock_guard lock(mutex_);
    return draw_points(tables_, id, key, max_points, range);
  }
  absl::StatusOr<std::vector<SeriesBlock>> blocks(StageId id, const SeriesKey& key, int shift,
                                                  StepRange range) override {
    const std::lock_guard lock(mutex_);
    return sum_blocks(tables_, id, key, shift, range);
  }
  absl::StatusOr<ArtifactRow> artifact(const std::string& sha256) override {
    const std::lock_guard lock(mutex_);
    return found_or(tables_.artifacts, sha256, refusal::artifact_not_found(sha256));
  }
  absl::StatusOr<std::set<StageId>> stages_naming(const std::string& sha256) override {
    const std::lock_guard lock(mutex_);
    return tables_.stages_naming(sha256);
  }
  absl::StatusOr<std::vector<WorkerRow>> workers() override { return all(tables_.workers); }
  absl::StatusOr<std::vector<EventRow>> events(std::int64_t after, int limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<EventRow> out;
    const auto& rows = tables_.events.rows();
    for (auto at = rows.upper_bound(after); at != rows.end() && static_cast<int>(out.size()) < limit; ++at) {
      out.push_back(at->second);
    }
    return out;
  }
  absl::StatusOr<std::int64_t> last_event() override {
    const std::lock_guard lock(mutex_);
    return tables_.events.next_id() - 1;
  }
  absl::StatusOr<std::int64_t> attempts_started() override {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(tables_.attempts_by_key.rows().size()) + tables_.next_id_of("attempts", 0);
  }
  absl::StatusOr<Deletion> deletion(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    return plan_deletion(tables_, id);
  }
  absl::StatusOr<Purge> next_purge(int trials) override {
    const std::lock_guard lock(mutex_);
    const PurgePlan plan = plan_purge(tables_, trials);
    return Purge{plan.experiment != 0, plan.stages, plan.artifacts};
  }
  absl::StatusOr<std::vector<AttemptRow>> attempts_of_worker(WorkerId id, int limit) override {
    return locked(&MemoryTables::attempts_of_worker, id, limit);
  }
  absl::StatusOr<std::map<std::int64_t, Annotation>> annotations(ExperimentId id) override {
    return locked(&MemoryTables::annotations_of, id);
  }
  absl::StatusOr<std::vector<ForeignImport>> foreign(ExperimentId id, const ForeignQuery& query) override {
    return locked(&MemoryTables::foreign_of, id, query);
  }
  absl::StatusOr<std::vector<AttemptSample>> samples(StageId id) override {
    return locked(&MemoryTables::samples_of, id);
  }
  absl::StatusOr<std::vector<SystemSample>> worker_samples(WorkerId id) override {
    return locked(&MemoryTables::samples_of_worker, id);
  }
  absl::StatusOr<std::vector<AlertRow>> alerts() override { return all(tables_.alerts); }
  absl::StatusOr<SearchRow> search(ExperimentId id) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    return found_or(tables_.searches, id, refusal::search_not_found(id));
  }
  absl::StatusOr<std::vector<SearchRow>> running_searches() override { return locked(&MemoryTables::running_searches); }
  absl::StatusOr<std::vector<DecisionRow>> decisions(ExperimentId id, std::int64_t after, int limit) override {
    const std::lock_guard lock(mutex_);
    if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
    return tables_.decisions_of(id, after, limit);
  }
  absl::StatusOr<std::pair<ExperimentId, std::int64_t>> decision_of_request(const std::string& request_id) override {
    const std::lock_guard lock(mutex_);
    const Ordinal* found = tables_.decisions_by_request.find(request_id);
    if (found == nullptr || !tables_.experiments.contains(found->first)) return refusal::request_not_found(request_id);
    return *found;
  }
  absl::StatusOr<LogView> log(StageId id, std::int64_t attempt, std::int64_t offset, std::int64_t most) override;
  absl::StatusOr<std::vector<ArtifactView>> artifacts(const std::string& after, int limit) override;
  absl::StatusOr<std::vector<StageId>> stages_to_release(StageId after, int limit) override;
  IdentityReads& identity() override { return identity_; }
  absl::StatusOr<AccountUse> account_use(const std::string& owner, ExperimentId but) override {
    const std::lock_guard lock(mutex_);
    return tables_.use_of(owner, but);
  }
  absl::StatusOr<int> copy_to(const std::filesystem::path&) override {
    return absl::UnimplementedError("a store in memory has no file to copy");
  }
  absl::StatusOr<StoreReport> check() override { return StoreReport{}; }

 private:
  template <class Out, class... Wanted, class... Args>
  Out locked(Out (MemoryTables::*query)(Wanted...) const, const Args&... args) {
    const std::lock_guard lock(mutex_);
    return (tables_.*query)(args...);
  }
  template <class Key, class Row>
  std::vector<Row> all(const Table<Key, Row>& table) {
    const std::lock_guard lock(mutex_);
    return values(table);
  }

  std::mutex writing_;  // one writer at a time; guards callback_. Taken before mutex_, so a callback may read
  std::function<void(std::int64_t)> callback_;
  std::mutex mutex_;  // guards tables_
  MemoryTables tables_;
  MemoryIdentityReads identity_{mutex_, tables_.identities_of_callers, tables_.account_rows};
};

bool unfinished(const StageRow& row) { return !terminal(row.state); }

// That the work of its experiment can be done.
bool proves(const StageRow& stage, const std::vector<AttemptRow>& attempts) {
  return stage.state == StageState::kSucceeded ||
         std::any_of(attempts.begin(), attempts.end(),
                     [](const AttemptRow& attempt) { return attempt.state == AttemptState::kParked; });
}

absl::StatusOr<Snapshot> MemoryStore::load() {
  const std::lock_guard lock(mutex_);
  Snapshot out;
  for (const auto& [id, row] : tables_.experiments.rows()) {
    if (row.state != ExperimentState::kCancelled) out.experiments.push_back(row);
  }
  for (const auto& [id, row] : tables_.stages.rows()) {
    if (!unfinished(row)) continue;
    out.stages.push_back(row);
    const auto newest = newest_checkpoint(tables_.checkpoints_of(id), tables_.attempts_of(id));
    if (newest) out.resume[id] = *newest;
  }
  for (const auto& [key, row] : tables_.attempts_by_key.rows()) {
    if (row.state == AttemptState::kRunning) out.running.push_back(row);
  }
  out.references = tables_.references_among([&](StageId id) { return unfinished(*tables_.stages.find(id)); });
  out.workers = values(tables_.workers);
  out.accounts = values(tables_.account_rows.accounts);
  out.usage = values(tables_.account_rows.usage);
  for (const ExperimentRow& row : out.experiments) {
    const auto& cells = tables_.cells.rows();
    out.cells[row.id] = std::distance(cells.lower_bound({row.id, kFirst}), cells.lower_bound({row.id + 1, kFirst}));
    for (const StageId stage : tables_.stages_of(row.id)) {
      if (proves(*tables_.stages.find(stage), tables_.attempts_of(stage))) out.proven.insert(row.id);
    }
  }
  out.next_experiment = tables_.next_id_of("experiment", tables_.experiments.next_id());
  out.next_stage = tables_.next_id_of("stage", tables_.stages.next_id());
  out.next_worker = tables_.workers.next_id();
  return out;
}

absl::StatusOr<std::vector<TrialView>> MemoryStore::trials(ExperimentId id, std::int64_t after_ordinal, int limit) {
  const std::lock_guard lock(mutex_);
  if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
  std::vector<TrialView> out;
  const auto& rows = tables_.trials.rows();
  for (auto at = rows.upper_bound({id, after_ordinal});
       at != rows.end() && at->first.first == id && static_cast<int>(out.size()) < limit; ++at) {
    TrialView view{at->second, {}};
    for (const TrialStageRow& link : tables_.links_of(id, view.trial.ordinal)) {
      view.stages.push_back({link, *tables_.stages.find(link.stage_id)});
    }
    out.push_back(std::move(view));
  }
  return out;
}

absl::StatusOr<std::vector<SeriesRow>> MemoryStore::series(StageId id) {
  const std::lock_guard lock(mutex_);
  if (!tables_.stages.contains(id)) return refusal::stage_not_found(id);
  std::vector<SeriesRow> out;
  const auto& rows = tables_.series_ids.rows();
  for (auto at = rows.lower_bound({id, {"", "", ""}}); at != rows.end() && at->first.first == id; ++at) {
    out.push_back(counted(tables_, *tables_.series_rows.find(at->second)));
  }
  return out;
}

absl::StatusOr<std::vector<SeriesRow>> MemoryStore::series_of(ExperimentId id) {
  const std::lock_guard lock(mutex_);
  if (!tables_.experiments.contains(id)) return refusal::experiment_not_found(id);
  return tables_.series_of(id);
}

absl::StatusOr<LogView> MemoryStore::log(StageId id, std::int64_t attempt, std::int64_t offset, std::int64_t most) {
  const std::lock_guard lock(mutex_);
  if (!tables_.stages.contains(id)) return refusal::stage_not_found(id);
  const auto row = tables_.attempt(id, attempt);
  if (!row) return refusal::attempt_not_found(id, attempt);
  LogView out{std::min(std::max<std::int64_t>(offset, 0), row->log_bytes), row->log_bytes, ""};
  const MemoryTables::Log* log = tables_.logs.find({id, attempt});
  if (log == nullptr) return out;
  out.offset = std::max(out.offset, log->first_offset);
  out.text = log->text.substr(static_cast<std::size_t>(out.offset - log->first_offset),
                              static_cast<std::size_t>(std::max<std::int64_t>(most, 0)));
  return out;
}

absl::StatusOr<std::vector<ArtifactView>> MemoryStore::artifacts(const std::string& after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<ArtifactView> out;
  const auto& rows = tables_.artifacts.rows();
  for (auto at = rows.upper_bound(after); at != rows.end() && static_cast<int>(out.size()) < limit; ++at) {
    out.push_back({at->second, !tables_.stages_naming(at->first).empty()});
  }
  return out;
}

absl::StatusOr<std::vector<StageId>> MemoryStore::stages_to_release(StageId after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<StageId> out;
  const auto& rows = tables_.stages.rows();
  for (auto at = rows.upper_bound(after); at != rows.end() && static_cast<int>(out.size()) < limit; ++at) {
    if (!spare_checkpoints(tables_, at->second).empty()) out.push_back(at->first);
  }
  return out;
}

}  // namespace

std::unique_ptr<Store> make_memory_store() { return std::make_unique<MemoryStore>(); }

}  // namespace locus

// The tables as maps that can take back what a refused call changed.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ports/queries.h"
#include "core/ports/snapshot.h"
#include "storage/memory/accounts.h"
#include "storage/memory/identity.h"
#include "storage/memory/table.h"
#include "storage/rules/rows.h"

namespace locus {

inline constexpr auto kFirst = std::numeric_limits<std::int64_t>::min();  // comes before every id in a key

struct StoredPoint {
  std::int64_t series_id = 0;
  Point point;
};
struct StoredLink {
  std::int64_t position = 0;
  StageId stage_id = 0;
  std::int64_t until_step = kToTheEnd;
};
using Ordinal = std::pair<ExperimentId, std::int64_t>;
using AttemptKey = std::pair<StageId, std::int64_t>;

// Thread-compatible. Queries read the tables as they are.
class MemoryTables final : public Rows {
 public:
  Journal journal;
  Table<std::string, std::string> catalogs{journal};
  Table<std::string, ExtensionRow> extensions{journal};  // by name
  Table<ExperimentId, ExperimentRow> experiments{journal};
  Table<ExperimentId, ExperimentRow> hidden{journal};  // deleted experiments of which something is left
  Table<std::string, ExperimentId> experiment_names{journal};
  Table<Ordinal, CellRow> cells{journal};
  Table<Ordinal, TrialRow> trials{journal};
  Table<std::tuple<ExperimentId, std::int64_t, std::string>, StoredLink> links{journal};  // (experiment, trial, role)
  Table<std::string, std::string> requests{journal};
  Table<StageId, StageRow> stages{journal};
  Table<std::string, StageId> identities{journal};
  Table<StageId, std::vector<Result>> results{journal};
  Table<AttemptKey, AttemptRow> attempts_by_key{journal};
  Table<std::tuple<StageId, std::int64_t, std::int64_t>, CheckpointRow> checkpoint_rows{
      journal};  // (stage, attempt, step)
  Table<std::string, ArtifactRow> artifacts{journal};
  Table<WorkerId, WorkerRow> workers{journal};
  Table<std::int64_t, EventRow> events{journal};
  Table<std::int64_t, SeriesRow> series_rows{journal};
  Table<std::pair<StageId, SeriesKey>, std::int64_t> series_ids{journal};
  struct Log {
    std::int64_t first_offset = 0;
    std::string text;
  };
  Table<AttemptKey, Log> logs{journal};
  Table<Ordinal, Annotation> annotations{journal};
  Table<std::pair<ExperimentId, std::string>, ForeignImport> foreign_imports{journal};  // by digest
  Table<std::tuple<StageId, std::int64_t, Microseconds>, SystemSample> samples{journal};
  Table<std::pair<WorkerId, Microseconds>, SystemSample> worker_samples{journal};
  Table<ExperimentId, AlertRow> alerts{journal};
  Table<ExperimentId, SearchRow> searches{journal};
  Table<Ordinal, DecisionRow> decisions{journal};
  Table<std::string, Ordinal> decisions_by_request{journal};
  MemoryAccountRows account_rows{journal};
  MemoryIdentityRows identities_of_callers{journal};
  Table<std::string, std::int64_t> remembered{journal};  // as the database's table of that name
  // Grows only in store_points, the last thing an append does, so that needs no journal; erasing has one.
  std::map<AttemptKey, std::vector<StoredPoint>> points;

  void put_catalog(const std::string& digest, const std::string& json) override;
  void put_extension(const ExtensionRow& row) override;
  void erase_extension(const std::string& name) override;
  std::optional<ExperimentRow> experiment(ExperimentId id) override;
  std::optional<ExperimentRow> experiment(const std::string& name) override;
  void put_experiment(const ExperimentRow& row) override;
  bool has_cell(ExperimentId experiment, std::int64_t ordinal) override;
  void put_cell(ExperimentId experiment, const CellRow& row) override;
  bool has_trial(ExperimentId experiment, std::int64_t ordinal) override;
  void put_trial(ExperimentId experiment, const TrialRow& row) override;
  void put_trial_stage(ExperimentId experiment, const TrialStageRow& row, std::int64_t position) override;
  void erase_trial_stage(ExperimentId experiment, std::int64_t trial, const std::string& role) override;
  std::map<std::string, std::int64_t> positions(ExperimentId experiment, std::int64_t trial) override;
  std::optional<std::string> request(const std::string& request_id) override;
  void put_request(const std::string& request_id, const std::string& name, Microseconds now) override;

  std::optional<StageRow> stage(StageId id) override;
  bool has_identity(const std::string& identity) override;
  void insert_stage(const StageRow& row) override;
  void update_stage(const StageRow& row) override;
  bool has_input(StageId id, const std::string& slot) override;
  void put_input(StageId id, const StageInput& input) override;
  void fill_input(StageId id, const std::string& slot, const std::string& sha256) override;
  void replace_results(StageId id, std::span<const Result> new_results) override;
  void replace_outputs(StageId id, std::span<const StageOutput> outputs) override;

  std::optional<AttemptRow> attempt(StageId id, std::int64_t attempt) override;
  void put_attempt(const AttemptRow& row) override;
  std::optional<CheckpointRow> checkpoint(StageId id, std::int64_t attempt, std::int64_t step) override;
  void put_checkpoint(const CheckpointRow& row) override;
  void clear_best(StageId id) override;

  bool has_artifact(const std::string& sha256) override;
  std::optional<ArtifactRow> artifact(const std::string& sha256) override;
  void put_artifact(const ArtifactRow& row) override;
  void set_pinned(const std::string& sha256, bool pinned) override;
  void erase_artifact(const std::string& sha256) override;
  std::set<StageId> stages_naming(const std::string& sha256) override;
  std::set<std::string> artifacts_named_by(StageId id) override;
  bool has_worker(WorkerId id) override;
  std::string session_of(WorkerId id) override;
  std::optional<WorkerId> worker_named(const std::string& name) override;
  void put_worker(const WorkerRow& row) override;
  void append_event(const std::string& subject, const std::string& kind, const std::string& json,
                    Microseconds now) override;

  Annotation annotation(ExperimentId experiment, std::int64_t trial) override;
  void put_annotation(ExperimentId experiment, std::int64_t trial, const Annotation& row) override;
  std::set<std::string> foreign_digests(ExperimentId experiment) override;
  void put_foreign(ExperimentId experiment, const ForeignImport& row) override;
  void erase_foreign(ExperimentId experiment, const std::string& digest) override;
  std::optional<WorkerId> worker_of_session(const std::string& session) override;
  std::vector<Microseconds> sample_times(StageId id, std::int64_t attempt) override;
  void put_sample(StageId id, std::int64_t attempt, const SystemSample& sample) override;
  void erase_sample(StageId id, std::int64_t attempt, Microseconds time_us) override;
  void put_worker_sample(WorkerId id, const SystemSample& sample) override;
  void erase_worker_samples(WorkerId id, Microseconds before) override;
  void put_alert(const AlertRow& row) override;
  void erase_alerts() override;

  std::optional<SearchRow> search(ExperimentId id) override;
  void put_search(const SearchRow& row) override;
  void put_decision(ExperimentId id, const DecisionRow& row) override;
  bool has_decision_of_request(const std::string& request_id) override;
  std::vector<std::int64_t> live_wants(StageId id) override;

  AccountRows& accounts() override { return account_rows; }
  IdentityRows& identity() override { return identities_of_callers; }

  std::optional<std::int64_t> series(StageId id, const SeriesKey& key) override;
  std::int64_t series_count(StageId id) override;
  std::int64_t insert_series(StageId id, const SeriesKey& key) override;
  void store_points(const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch, std::size_t skip,
                    std::span<const std::int64_t> ids) override;

  std::vector<AttemptRow> attempts_of(StageId id) const override;
  std::vector<CheckpointRow> checkpoints_of(StageId id) const override;
  void erase_checkpoint(const CheckpointRow& row) override;
  std::vector<StageOutput> outputs_of(StageId id) override;
  void append_log(const AttemptRow& attempt, const std::string& text) override;

  std::int64_t trial_count(ExperimentId id) override;
  std::set<StageId> linked_stages(ExperimentId id) override;
  std::set<std::string> others_linking(StageId id, ExperimentId except) override;
  std::set<StageId> dependents(StageId id) override;
  std::set<StageId> sources(StageId id) override;
  std::set<StageId> running_stages(ExperimentId id) override;
  bool linked_beyond(StageId id, ExperimentId experiment, std::int64_t trial) override;
  std::vector<std::int64_t> first_trials(ExperimentId id, int limit) override;
  std::set<StageId> stages_of_trial(ExperimentId id, std::int64_t ordinal) override;
  void remember_deletion(std::int64_t attempts) override;
  void hide_experiment(ExperimentId id) override;
  std::optional<ExperimentId> hidden_experiment() override;
  void erase_trials(ExperimentId id, std::int64_t last) override;
  int erase_cells(ExperimentId id, int limit) override;
  int erase_decisions(ExperimentId id, int limit) override;
  void erase_experiment(ExperimentId id) override;
  void erase_stages(const std::vector<StageId>& ids) override;

  // For queries.
  std::int64_t next_id_of(const std::string& name, std::int64_t next) const;               // not given before
  std::vector<TrialStageRow> links_of(ExperimentId experiment, std::int64_t trial) const;  // by position
  std::set<StageId> stages_of(ExperimentId experiment) const;
  std::vector<SeriesRow> series_of(ExperimentId experiment) const;
  std::vector<PastRun> past_runs(const std::string& load, int limit) const;
  StageBriefs briefs_of(ExperimentId experiment) const;                      // of unretired trials
  std::vector<AttemptRow> attempts_of_worker(WorkerId id, int limit) const;  // newest first
  std::map<std::int64_t, Annotation> annotations_of(ExperimentId id) const;
  std::vector<ForeignImport> foreign_of(ExperimentId id, const ForeignQuery& query) const;
  std::vector<AttemptSample> samples_of(StageId id) const;
  std::vector<SystemSample> samples_of_worker(WorkerId id) const;
  StageCounts counts_of(ExperimentId id) const;
  AccountUse use_of(const std::string& owner, ExperimentId but);
  std::vector<SearchRow> running_searches() const;                                              // by id
  std::vector<DecisionRow> decisions_of(ExperimentId id, std::int64_t after, int limit) const;  // limit 0: all
  std::vector<StageReference> references_among(const std::function<bool(StageId)>& among) const;

 private:
  void erase_metadata_of(ExperimentId id);
  void erase_samples(StageId id, std::int64_t attempt);
};

}  // namespace locus

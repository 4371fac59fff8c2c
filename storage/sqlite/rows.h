// The rules' view of the tables, on the writer's connection.
#pragma once

#include "storage/rules/rows.h"
#include "storage/sqlite/account_rows.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/identity_rows.h"

namespace locus::sqlite {

// Holds nothing but the connection, so a rolled back transaction leaves nothing behind. Throws SqliteError.
class SqliteRows : public Rows {
 public:
  explicit SqliteRows(Connection& connection) : db_(connection), accounts_(connection), identity_(connection) {}

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
  void replace_results(StageId id, std::span<const Result> results) override;
  void replace_outputs(StageId id, std::span<const StageOutput> outputs) override;

  std::optional<AttemptRow> attempt(StageId id, std::int64_t attempt) override;
  void put_attempt(const AttemptRow& row) override;  // an attempt that has ended is sealed
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

  AccountRows& accounts() override { return accounts_; }
  IdentityRows& identity() override { return identity_; }

  std::optional<std::int64_t> series(StageId id, const SeriesKey& key) override;
  std::int64_t series_count(StageId id) override;
  std::int64_t insert_series(StageId id, const SeriesKey& key) override;
  void store_points(const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch, std::size_t skip,
                    std::span<const std::int64_t> series_ids) override;

  // Hidden ones, too.
  std::set<ExperimentId> experiments_linking(StageId id);

 private:
  std::int64_t requirement_id(
      const StageRequirements& asked);  // of its row, made where there is none; 0: nothing is asked

  Connection& db_;
  SqliteAccountRows accounts_;
  SqliteIdentityRows identity_;
};

}  // namespace locus::sqlite

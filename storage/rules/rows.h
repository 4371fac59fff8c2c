// The tables as the rules of writing see them: get and put by key, inside one transaction. Each store
// supplies its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/experiment/foreign.h"
#include "core/experiment/metadata.h"
#include "core/experiment/model.h"

namespace locus {

class AccountRows;
class IdentityRows;

// Thread-compatible. Knows no rule: keeps what it is given, and is rolled back by its owner when a rule
// refuses. An implementation may throw for a failure of the medium; its owner catches that.
class Rows {
 public:
  virtual ~Rows() = default;

  virtual void put_catalog(const std::string& digest,
                           const std::string& json) = 0;  // nothing if the digest is known
  virtual void put_extension(const ExtensionRow& row) = 0;
  virtual void erase_extension(const std::string& name) = 0;

  virtual std::optional<ExperimentRow> experiment(ExperimentId id) = 0;  // hidden ones are not there
  virtual std::optional<ExperimentRow> experiment(const std::string& name) = 0;
  virtual void put_experiment(const ExperimentRow& row) = 0;
  virtual bool has_cell(ExperimentId experiment, std::int64_t ordinal) = 0;
  virtual void put_cell(ExperimentId experiment, const CellRow& row) = 0;
  virtual bool has_trial(ExperimentId experiment, std::int64_t ordinal) = 0;
  virtual void put_trial(ExperimentId experiment, const TrialRow& row) = 0;
  virtual void put_trial_stage(ExperimentId experiment, const TrialStageRow& row, std::int64_t position) = 0;
  virtual void erase_trial_stage(ExperimentId experiment, std::int64_t trial, const std::string& role) = 0;
  virtual std::map<std::string, std::int64_t> positions(ExperimentId experiment,
                                                        std::int64_t trial) = 0;  // of its links, by role
  virtual std::optional<std::string> request(const std::string& request_id) = 0;  // the experiment's name
  virtual void put_request(const std::string& request_id, const std::string& name, Microseconds now) = 0;

  virtual std::optional<StageRow> stage(StageId id) = 0;  // inputs and outputs may be left empty
  virtual bool has_identity(const std::string& identity) = 0;
  virtual void insert_stage(const StageRow& row) = 0;  // without inputs and outputs
  virtual void update_stage(const StageRow& row) = 0;  // state, class, reason, attempt, counters, delay
  virtual bool has_input(StageId id, const std::string& slot) = 0;
  virtual void put_input(StageId id, const StageInput& input) = 0;
  virtual void fill_input(StageId id, const std::string& slot, const std::string& sha256) = 0;
  virtual void replace_results(StageId id,
                               std::span<const Result> results) = 0;  // a later one of equal key wins
  virtual void replace_outputs(StageId id, std::span<const StageOutput> outputs) = 0;

  virtual std::optional<AttemptRow> attempt(StageId id, std::int64_t attempt) = 0;
  virtual void put_attempt(const AttemptRow& row) = 0;
  virtual std::optional<CheckpointRow> checkpoint(StageId id, std::int64_t attempt, std::int64_t step) = 0;
  virtual void put_checkpoint(const CheckpointRow& row) = 0;
  virtual void clear_best(StageId id) = 0;

  virtual bool has_artifact(const std::string& sha256) = 0;
  virtual std::optional<ArtifactRow> artifact(const std::string& sha256) = 0;
  virtual void put_artifact(const ArtifactRow& row) = 0;  // of a known digest only the time changes
  virtual void set_pinned(const std::string& sha256, bool pinned) = 0;
  virtual void erase_artifact(const std::string& sha256) = 0;
  // Stages that name it: by a checkpoint, an output, an input, or what a running attempt resumed from.
  virtual std::set<StageId> stages_naming(const std::string& sha256) = 0;
  virtual std::set<std::string> artifacts_named_by(StageId id) = 0;  // by a checkpoint or an output
  virtual bool has_worker(WorkerId id) = 0;
  virtual std::string session_of(WorkerId id) = 0;  // empty: no such worker
  virtual std::optional<WorkerId> worker_named(const std::string& name) = 0;
  virtual void put_worker(const WorkerRow& row) = 0;
  virtual void append_event(const std::string& subject, const std::string& kind, const std::string& json,
                            Microseconds now) = 0;

  virtual std::vector<AttemptRow> attempts_of(StageId id) const = 0;        // oldest first
  virtual std::vector<CheckpointRow> checkpoints_of(StageId id) const = 0;  // oldest first
  virtual void erase_checkpoint(const CheckpointRow& row) = 0;
  virtual std::vector<StageOutput> outputs_of(StageId id) = 0;

  // Adds text at the attempt's mark, moves the mark, and drops pieces that end kLogBytes before it.
  virtual void append_log(const AttemptRow& attempt, const std::string& text) = 0;

  virtual std::int64_t trial_count(ExperimentId id) = 0;
  virtual std::set<StageId> linked_stages(ExperimentId id) = 0;  // of all its trials, retired ones too
  virtual std::set<std::string> others_linking(StageId id, ExperimentId except) = 0;  // their names
  virtual std::set<StageId> dependents(StageId id) = 0;           // stages that take an input from it
  virtual std::set<StageId> sources(StageId id) = 0;              // stages that it takes an input from
  virtual std::set<StageId> running_stages(ExperimentId id) = 0;  // of those it links
  // Whether a trial links it other than those of this experiment up to `trial`. Hidden experiments' count.
  virtual bool linked_beyond(StageId id, ExperimentId experiment, std::int64_t trial) = 0;
  virtual std::vector<std::int64_t> first_trials(ExperimentId id, int limit) = 0;  // by ordinal
  virtual std::set<StageId> stages_of_trial(ExperimentId id, std::int64_t ordinal) = 0;
  // Ids up to now are never given again, and `attempts` stay counted.
  virtual void remember_deletion(std::int64_t attempts) = 0;
  // From here on it is not there; its name is free, the requests that made it are forgotten.
  virtual void hide_experiment(ExperimentId id) = 0;
  virtual std::optional<ExperimentId> hidden_experiment() = 0;        // the oldest one that is left
  virtual void erase_trials(ExperimentId id, std::int64_t last) = 0;  // up to this ordinal, with their links
  virtual int erase_cells(ExperimentId id, int limit) = 0;            // returns how many went
  virtual int erase_decisions(ExperimentId id, int limit) = 0;        // the newest first; returns how many went
  virtual void erase_experiment(ExperimentId id) = 0;              // a hidden one without cells, trials and decisions
  virtual void erase_stages(const std::vector<StageId>& ids) = 0;  // with everything of theirs

  virtual std::optional<SearchRow> search(ExperimentId id) = 0;
  virtual void put_search(const SearchRow& row) = 0;
  virtual void put_decision(ExperimentId id, const DecisionRow& row) = 0;   // a new number
  virtual bool has_decision_of_request(const std::string& request_id) = 0;  // hidden experiments' count
  virtual std::vector<std::int64_t> live_wants(StageId id) = 0;  // stop points of unretired trials of live experiments

  virtual Annotation annotation(ExperimentId experiment, std::int64_t trial) = 0;  // empty without one
  virtual void put_annotation(ExperimentId experiment, std::int64_t trial, const Annotation& row) = 0;
  virtual std::set<std::string> foreign_digests(ExperimentId experiment) = 0;
  virtual void put_foreign(ExperimentId experiment, const ForeignImport& row) = 0;
  virtual void erase_foreign(ExperimentId experiment, const std::string& digest) = 0;
  virtual std::optional<WorkerId> worker_of_session(const std::string& session) = 0;
  virtual std::vector<Microseconds> sample_times(StageId id, std::int64_t attempt) = 0;  // in order
  virtual void put_sample(StageId id, std::int64_t attempt, const SystemSample& sample) = 0;
  virtual void erase_sample(StageId id, std::int64_t attempt, Microseconds time_us) = 0;
  virtual void put_worker_sample(WorkerId id, const SystemSample& sample) = 0;
  virtual void erase_worker_samples(WorkerId id, Microseconds before) = 0;
  virtual void put_alert(const AlertRow& row) = 0;
  virtual void erase_alerts() = 0;

  virtual AccountRows& accounts() = 0;   // storage/rules/account_rows.h; lives as long as this
  virtual IdentityRows& identity() = 0;  // storage/rules/identity_rows.h; likewise

  virtual std::optional<std::int64_t> series(StageId id, const SeriesKey& key) = 0;
  virtual std::int64_t series_count(StageId id) = 0;
  virtual std::int64_t insert_series(StageId id, const SeriesKey& key) = 0;
  // Stores points [skip, size) as sequences first_seq + skip and on, and moves the attempt's acknowledged
  // mark there. series_ids[i] is the id of batch.series[i].
  virtual void store_points(const AttemptRow& attempt, std::int64_t first_seq, const PointBatch& batch,
                            std::size_t skip, std::span<const std::int64_t> series_ids) = 0;
};

}  // namespace locus

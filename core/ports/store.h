// The store port: everything durable. Writes are mutations applied atomically, reads are queries.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/experiment/beside.h"
#include "core/experiment/load.h"
#include "core/experiment/model.h"
#include "core/ports/curves.h"

namespace locus {

// ---- mutations. Each carries its own precondition; one that fails refuses the whole call with the reason
// named. ----

struct PutCatalog {
  std::string digest, json;
};  // idempotent
struct SaveExperiment {
  // expected_revision 0 inserts (EXPERIMENT_EXISTS if the name is taken); otherwise the stored revision must
  // equal it (WRONG_STATE) and row.revision = expected_revision + 1. Cells and trials are upserted by
  // ordinal, stages inserted (id and identity unique, blocked, queued, held or cancelled, attempt 0;
  // WRONG_STATE), trial_stages upserted by (trial, role) and read back in the order given here. Cells, trials
  // and stages referred to must exist afterwards.
  std::int64_t expected_revision = 0;
  ExperimentRow row;
  std::vector<CellRow> cells;
  std::vector<TrialRow> trials;
  std::vector<StageRow> stages;
  std::vector<TrialStageRow> trial_stages;
  std::string request_id;  // empty, or remembered with the experiment's name
};
struct SetExperimentState {
  ExperimentId id = 0;
  ExperimentState from{}, to{};
  std::string reason = {};  // replaces the former one
};                          // WRONG_STATE unless in `from`
// From here on no read shows the experiment, and its name is free; how large it is does not matter. What it leaves
// is taken away by PurgeDeleted. WRONG_STATE while a stage that would go with it is running.
struct DeleteExperiment {
  ExperimentId id = 0;
};
// Takes away up to so many trials of deleted experiments, the oldest experiment first, and fewer where they hold
// much; then its cells, then its row. With the trials go the stages that no trial links any more and nothing that
// stays takes inputs from, with attempts, points, logs, results and checkpoints: a stage that another experiment
// linked before its turn came stays. Artifacts stay until they are collected. Ids of what is gone are never given
// again. Nothing left to take away is no error.
struct PurgeDeleted {
  int trials = 0;
};
// STALE_ATTEMPT unless attempt and `from` match; WRONG_STATE for an edge from or to running (a grant and an
// attempt's end make those) or from succeeded, which is final.
struct SetStageState {
  StageId stage_id = 0;
  std::int64_t attempt = 0;
  StageState from{}, to{};
  FailureClass failure_class = FailureClass::kNone;
  std::string reason;
  Microseconds retry_delay_us = 0;
  bool forgive = false;                       // resets failures and faults (explicit resubmission)
  std::map<std::string, std::string> inputs;  // slot -> artifact sha256, filled when unblocked
};
// STALE_ATTEMPT unless the stage is queued at number - 1. Clears the stage's reason, failure class and retry
// delay.
struct GrantAttempt {
  StageId stage_id = 0;
  std::int64_t number = 0;
  WorkerId worker_id = 0;
  std::string session;
  std::vector<int> slots;
  std::string resume_sha256;
  std::int64_t resume_step = 0;
  Microseconds started_us = 0;
};
struct EndAttempt {  // STALE_ATTEMPT unless number is newest and running
  StageId stage_id = 0;
  std::int64_t number = 0;
  AttemptState outcome{};
  FailureClass failure_class = FailureClass::kNone;
  std::string reason, environment_json = "{}";
  Microseconds ended_us = 0;
  StageState stage_state{};  // where the stage goes from running
  bool counts_as_failure = false, counts_as_fault = false;
  Microseconds retry_delay_us = 0;
  std::vector<Result> results;       // replace the stage's; ignored unless kSucceeded
  std::vector<StageOutput> outputs;  // likewise; every sha256 must be a stored artifact
};
// Fenced like EndAttempt; ARTIFACT_NOT_FOUND. The same again changes nothing; `best` takes the mark from the
// former best.
struct CommitCheckpoint {
  StageId stage_id = 0;
  std::int64_t number = 0, step = 0;
  std::string sha256;
  bool best = false;
};
struct PutArtifact {
  std::string sha256, kind, uri;
  std::int64_t bytes = 0;
};  // idempotent
struct PinArtifact {
  std::string sha256;
  bool pinned = false;
};  // ARTIFACT_NOT_FOUND; idempotent
// Forgets an artifact that nothing names. WRONG_STATE when it is pinned, named by a checkpoint, an output, an
// input or a running attempt, or not older than `created_before`.
struct CollectArtifact {
  std::string sha256;
  Microseconds created_before = 0;
};
// Drops the checkpoints of a stage that retention lets go of (storage/rules/retention.h).
struct ReleaseCheckpoints {
  StageId stage_id = 0;
};
// Adds what a trainer printed, bytes already stored left out; of each attempt the last kLogBytes are kept.
// STALE_ATTEMPT unless the session is the attempt's or its worker's present one; SEQUENCE_GAP with
// expected_sequence, the offset to go on from.
struct AppendLog {
  StageId stage_id = 0;
  std::int64_t number = 0;
  std::string session;
  std::int64_t offset = 0;
  std::string text;
};
struct PutWorker {
  WorkerRow row;
};  // upsert by id; WRONG_STATE if another id has the name
// Tags taken away, then added, each once; a note replaces the former one, absent it stays. EXPERIMENT_NOT_FOUND,
// TRIAL_NOT_FOUND; LIMIT_EXCEEDED for more than kTagsMost.
struct Annotate {
  ExperimentId experiment = 0;
  std::int64_t trial = kWholeExperiment;
  std::vector<std::string> add, remove;
  std::optional<std::string> note;
};
// What the machine of an attempt does now; at most kSamplesPerAttempt are kept, ever further apart. Refused as
// AppendLog is.
struct AddAttemptSample {
  StageId stage_id = 0;
  std::int64_t number = 0;
  std::string session;
  SystemSample sample;  // its time is that of the commit
};
struct AddWorkerSample {  // WORKER_NOT_FOUND; the last kWorkerSamplesKept are kept
  std::string session;
  SystemSample sample;
};
struct PutAlert {
  AlertRow row;
};  // replaces that experiment's; EXPERIMENT_NOT_FOUND, unless the experiment is 0
struct ForgetAlerts {};
struct AppendEvent {
  std::string subject, kind, json = "{}";
};

using Mutation = std::variant<PutCatalog, SaveExperiment, SetExperimentState, DeleteExperiment, PurgeDeleted,
                              SetStageState, GrantAttempt, EndAttempt, CommitCheckpoint, PutArtifact, PinArtifact,
                              CollectArtifact, ReleaseCheckpoints, AppendLog, PutWorker, AppendEvent, Annotate,
                              AddAttemptSample, AddWorkerSample, PutAlert, ForgetAlerts>;

struct PointAppend {
  StageId stage_id = 0;
  std::int64_t number = 0;     // attempt token, checked inside the write: STALE_ATTEMPT unless newest and running
  std::int64_t first_seq = 1;  // sequences start at 1, gap-free within an attempt: SEQUENCE_GAP with expected_sequence
  PointBatch points;           // those already stored are ignored
};

// What a starting scheduler needs: everything not finished, and where ids go on.
struct Snapshot {
  std::vector<ExperimentRow> experiments;  // active and paused
  std::vector<StageRow> stages;            // blocked, queued, running
  std::vector<AttemptRow> running;
  struct Want {
    ExperimentId experiment = 0;
    StageId stage = 0;
    std::int64_t trial = 0, cell = 0;
  };
  std::vector<Want> wants;                     // which live experiments want those stages (unretired trials)
  std::map<StageId, CheckpointRow> resume;     // newest checkpoint of each stage above, not superseded
  std::map<ExperimentId, std::int64_t> cells;  // how many each experiment above has
  std::set<ExperimentId> proven;               // those with a stage that succeeded
  std::vector<WorkerRow> workers;
  ExperimentId next_experiment = 1;
  StageId next_stage = 1;
  WorkerId next_worker = 1;
};

struct TrialStageView {
  TrialStageRow link;
  StageRow stage;
};
struct TrialView {
  TrialRow trial;
  std::vector<TrialStageView> stages;
};
// Over the distinct stages of unretired trials. `busy_us`: time in attempts of the succeeded ones, what an
// estimate goes by.
struct KindCounts {
  std::int64_t total = 0, succeeded = 0;
  Microseconds busy_us = 0;
};
struct StageCounts {
  std::map<StageState, std::int64_t> by_state;
  std::int64_t trials = 0, trials_done = 0;
  std::map<std::string, KindCounts> by_kind;  // by stage kind
  Microseconds last_ended_us = 0;             // newest end of an attempt of those stages; 0 without one
};
struct ResultView {
  StageId stage_id = 0;
  Result result;
};
// What tables read of a trial's stage: no configuration, inputs or outputs.
struct StageBrief {
  std::int64_t trial = 0, cell = 0, seed = 0;
  StageId stage = 0;
  std::string kind;
  StageState state = StageState::kBlocked;
  int environment = -1;  // index into StageBriefs::environments; -1: has not succeeded
};
struct StageBriefs {
  std::vector<StageBrief> stages;         // of unretired trials, by trial, then in the order of the specification
  std::vector<std::string> environments;  // JSON, each text once
};
struct SeriesRow {
  std::int64_t id = 0;
  StageId stage_id = 0;
  SeriesKey key;
  std::int64_t points = 0;
};  // points: superseded included
struct SeriesPoints {
  SeriesRow series;
  std::vector<Point> points;
  bool reduced = false;
};  // reduced: min/max/first/last kept per bucket

// What a deletion takes with it.
struct Deletion {
  std::vector<StageId> stages;  // that go
  std::int64_t stages_kept = 0, stages_unfinished = 0, trials = 0, attempts = 0, points = 0;
  std::set<std::string> kept_for;      // experiments that need what stays
  std::vector<std::string> artifacts;  // nothing else names them, and they are not pinned
  std::int64_t bytes = 0;              // of these
};
// What the next PurgeDeleted takes away.
struct Purge {
  bool left = false;                   // whether anything of a deleted experiment is left
  std::vector<StageId> stages;         // that go
  std::vector<std::string> artifacts;  // nothing else names them, and they are not pinned
};
struct ArtifactView {
  ArtifactRow row;
  bool named = false;  // by a checkpoint, an output, an input or a running attempt
};
struct LogView {
  std::int64_t offset = 0;  // of the first byte of `text`
  std::int64_t total = 0;   // bytes stored so far, those let go included
  std::string text;
};
struct StoreReport {
  std::vector<std::string> problems;  // in the words of the database; empty: none found
  std::int64_t bytes = 0;
  int schema_version = 0;
};

// Thread-safe. Reads see every write whose apply() or append() has returned. Errors:
// UNAVAILABLE/STORAGE_FAILED for the medium, the reasons above for refused preconditions, NOT_FOUND with the
// noun's reason for absent things.
class Store {
 public:
  virtual ~Store() = default;

  // Applies all or nothing, durably, before it returns; fills the commit time. Blocks.
  virtual absl::Status apply(std::span<const Mutation> mutations, Microseconds now_wall_us) = 0;
  // Appends points durably; returns the highest stored sequence of the attempt.
  virtual absl::StatusOr<std::int64_t> append(const PointAppend& append, Microseconds now_wall_us) = 0;
  // Called after each commit that wrote events or points, from the writer's thread, with the newest event id;
  // must not block.
  virtual void on_commit(std::function<void(std::int64_t last_event)> callback) = 0;

  virtual absl::StatusOr<Snapshot> load() = 0;
  virtual absl::StatusOr<std::string> catalog(const std::string& digest) = 0;
  virtual absl::StatusOr<ExperimentRow> experiment(const std::string& name) = 0;
  virtual absl::StatusOr<ExperimentRow> experiment(ExperimentId id) = 0;
  virtual absl::StatusOr<std::vector<ExperimentRow>> experiments(
      ExperimentId before, int limit) = 0;  // newest first; before 0: from the newest
  virtual absl::StatusOr<std::string> experiment_of_request(const std::string& request_id) = 0;  // name; NOT_FOUND
  virtual absl::StatusOr<StageCounts> counts(ExperimentId id) = 0;                               // unretired trials
  virtual absl::StatusOr<std::vector<CellRow>> cells(ExperimentId id) = 0;
  virtual absl::StatusOr<std::vector<TrialView>> trials(
      ExperimentId id, std::int64_t after_ordinal,
      int limit) = 0;  // by ordinal; after -1: from the first; retired included
  virtual absl::StatusOr<std::map<std::string, StageRow>> stages_by_identity(
      std::span<const std::string> identities) = 0;
  // Stages of that load (core/experiment/load.h) that succeeded, newest first.
  virtual absl::StatusOr<std::vector<PastRun>> past_runs(const std::string& load, int limit) = 0;
  virtual absl::StatusOr<StageRow> stage(StageId id) = 0;
  virtual absl::StatusOr<std::vector<AttemptRow>> attempts(StageId id) = 0;        // oldest first
  virtual absl::StatusOr<std::vector<CheckpointRow>> checkpoints(StageId id) = 0;  // oldest first
  virtual absl::StatusOr<std::vector<ResultView>> results(ExperimentId id) = 0;    // of every stage of unretired trials
  virtual absl::StatusOr<std::vector<ResultView>> results(ExperimentId id, const std::string& metric) = 0;
  virtual absl::StatusOr<StageBriefs> briefs(ExperimentId id) = 0;
  // As in Snapshot, of one stage in any state; by experiment and trial.
  virtual absl::StatusOr<std::vector<Snapshot::Want>> wants(StageId id) = 0;
  virtual absl::StatusOr<std::vector<Result>> stage_results(StageId id) = 0;
  virtual absl::StatusOr<std::vector<SeriesRow>> series(StageId id) = 0;
  // Of every stage of unretired trials, by stage and key; `points` are not counted.
  virtual absl::StatusOr<std::vector<SeriesRow>> series_of(ExperimentId id) = 0;
  // Points of one series within `range` in step order, superseded ones left out (an attempt's points past the
  // resume step of a later attempt; all of them when a later one began afresh, without a checkpoint and at
  // step 0). At most max_points (0: all; below 16 counts as 16) keeping each bucket's first, last, minimum,
  // maximum and every non-finite mark; runs of one non-finite value shrink to their ends where they alone
  // would fill half of max_points, and to each bucket's if that is not enough.
  virtual absl::StatusOr<SeriesPoints> points(StageId id, const SeriesKey& key, int max_points,
                                              StepRange range = {}) = 0;
  // The same points within `range`, summed up in blocks of 2^shift steps, by index. INVALID_ARGUMENT unless
  // shift is 0 to 62. Answered from what was stored at sealing where that is enough.
  virtual absl::StatusOr<std::vector<SeriesBlock>> blocks(StageId id, const SeriesKey& key, int shift,
                                                          StepRange range = {}) = 0;
  virtual absl::StatusOr<ArtifactRow> artifact(const std::string& sha256) = 0;
  virtual absl::StatusOr<std::vector<WorkerRow>> workers() = 0;
  virtual absl::StatusOr<std::vector<EventRow>> events(std::int64_t after, int limit) = 0;
  virtual absl::StatusOr<std::int64_t> last_event() = 0;
  virtual absl::StatusOr<std::int64_t> attempts_started() = 0;  // over the store's whole life

  virtual absl::StatusOr<Deletion> deletion(ExperimentId id) = 0;  // what its end takes with it, all pieces together
  virtual absl::StatusOr<Purge> next_purge(int trials) = 0;        // what PurgeDeleted of as many would take
  virtual absl::StatusOr<std::vector<AttemptRow>> attempts_of_worker(WorkerId id,
                                                                     int limit) = 0;  // newest first
  // Stored text from `offset` on, at most `most` bytes; from the oldest kept when that is gone.
  virtual absl::StatusOr<LogView> log(StageId id, std::int64_t number, std::int64_t offset, std::int64_t most) = 0;
  // By digest, after this one; "" from the first.
  virtual absl::StatusOr<std::vector<ArtifactView>> artifacts(const std::string& after, int limit) = 0;
  // Stages after this one with checkpoints that ReleaseCheckpoints would drop.
  virtual absl::StatusOr<std::vector<StageId>> stages_to_release(StageId after, int limit) = 0;
  // By trial, kWholeExperiment first; those without tags and note are left out.
  virtual absl::StatusOr<std::map<std::int64_t, Annotation>> annotations(ExperimentId id) = 0;
  // By attempt and time.
  virtual absl::StatusOr<std::vector<AttemptSample>> samples(StageId id) = 0;
  virtual absl::StatusOr<std::vector<SystemSample>> worker_samples(WorkerId id) = 0;  // oldest first
  virtual absl::StatusOr<std::vector<AlertRow>> alerts() = 0;                         // by experiment
  // Writes a consistent copy of the database to `file`, which must not exist, while reads and writes go on.
  // Returns its schema version. UNIMPLEMENTED for a store without a file.
  virtual absl::StatusOr<int> copy_to(const std::filesystem::path& file) = 0;
  virtual absl::StatusOr<StoreReport> check() = 0;  // reads everything: seconds for a large database
};

}  // namespace locus

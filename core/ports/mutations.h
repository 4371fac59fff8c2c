// What may be written to a store: each mutation carries its own precondition; one that fails refuses the whole call
// with the reason named.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/experiment/foreign.h"
#include "core/experiment/metadata.h"
#include "core/experiment/model.h"
#include "core/ports/identity.h"

namespace locus {

struct PutCatalog {
  std::string digest, json;
};  // idempotent
struct PutExtension {
  ExtensionRow row;
};  // replaces that of its name
struct RemoveExtension {
  std::string name;
};  // idempotent
struct SaveExperiment {
  // expected_revision 0 inserts (EXPERIMENT_EXISTS if the name is taken); otherwise the stored revision must
  // equal it (WRONG_STATE) and row.revision = expected_revision + 1. Cells and trials are upserted by
  // ordinal, stages inserted (id and identity unique, blocked, queued, held or cancelled, attempt 0;
  // WRONG_STATE), trial_stages upserted by (trial, role) and read back in the order given here; of a trial given here that
  // is not retired, links of other roles go. Cells, trials and stages referred to must exist afterwards. INVALID_ARGUMENT
  // for a stop point below kNoFurther.
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
// Where its stages may run from now on (core/experiment/labels.h); its revision stays.
struct SetExperimentPlacement {
  ExperimentId id = 0;
  std::string placement;
};
// From here on no read shows the experiment, and its name is free; how large it is does not matter. What it leaves
// is taken away by PurgeDeleted. WRONG_STATE while a stage that would go with it is running.
struct DeleteExperiment {
  ExperimentId id = 0;
};
// Takes away up to so many trials of deleted experiments, the oldest experiment first, and fewer where they
// hold much; then its cells, then the log of its search, then its row. With the trials go the stages that no
// trial links any more and nothing that stays takes inputs from, with attempts, points, logs, results and
// checkpoints: a stage that another experiment linked before its turn came stays. Artifacts stay until they are
// collected. Ids of what is gone are never given again. Nothing left to take away is no error.
struct PurgeDeleted {
  int trials = 0;
};
// STALE_ATTEMPT unless attempt and `from` match; WRONG_STATE for an edge from or to running (a grant and an
// attempt's end make those) or from succeeded, which is final; parked is left for queued alone, and entered
// from there when nobody wants a step of the stage any more. INVALID_ARGUMENT for a slot it does not have.
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
// STALE_ATTEMPT unless the stage is queued at attempt - 1; INVALID_ARGUMENT for a stop point below 0. Clears the
// stage's reason, failure class and retry delay.
struct GrantAttempt {
  StageId stage_id = 0;
  std::int64_t attempt = 0;
  WorkerId worker_id = 0;
  std::string session;
  std::vector<int> slots;
  std::string resume_sha256;
  std::int64_t resume_step = 0;
  Microseconds started_us = 0;
  std::int64_t until_step = kToTheEnd;
  ServiceClass service_class = ServiceClass::kNormal;
  std::vector<std::string> accounts = {};  // AttemptRow::accounts
};
// STALE_ATTEMPT unless the attempt is newest and running; WRONG_STATE where this outcome cannot leave the stage so: a
// stage is left parked by an attempt that parked, and by such a one parked, queued (it is wanted further by now) or
// cancelled.
struct EndAttempt {
  StageId stage_id = 0;
  std::int64_t attempt = 0;
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
  std::int64_t attempt = 0, step = 0;
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
  std::int64_t attempt = 0;
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
  std::int64_t attempt = 0;
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
// Appends to the log of a search, or starts it: expected 0 inserts the search where there is none. WRONG_STATE
// unless the log's last number is `expected`, or the rows do not go on from there without a gap;
// EXPERIMENT_NOT_FOUND; INVALID_ARGUMENT without rows where there is no search yet. The rows' times are that of
// the commit. `state` and `reason` are the search's from then on, its generation that of the last row. A
// request_id that some log holds already, be it that of a deleted experiment of which something is left, is
// WRONG_STATE.
struct AppendDecisions {
  ExperimentId experiment_id = 0;
  std::int64_t expected = 0;
  std::vector<DecisionRow> rows;
  SearchState state = SearchState::kRunning;
  std::string reason = {};
};
// Adds to an experiment what its search decided: cells and trials that are new, stages that are new, and links
// of its trials, new or with another stop point; rows as in SaveExperiment, but that a link that was there
// keeps its place within its trial, and new ones follow. The revision stays. EXPERIMENT_NOT_FOUND; WRONG_STATE
// for a stage that is there already, or a link from or to what is not.
struct ResolveTrials {
  ExperimentId id = 0;
  std::vector<CellRow> cells;
  std::vector<TrialRow> trials;
  std::vector<StageRow> stages;
  std::vector<TrialStageRow> trial_stages;
};
// Series of another program beside an experiment. The same digest again changes nothing. EXPERIMENT_NOT_FOUND;
// LIMIT_EXCEEDED for more than kForeignImportsMost of them. Its time is that of the commit.
struct PutForeign {
  ExperimentId experiment = 0;
  ForeignImport row;
};
struct RemoveForeign {  // EXPERIMENT_NOT_FOUND, SERIES_NOT_FOUND
  ExperimentId experiment = 0;
  std::string digest;
};
struct AppendEvent {
  std::string subject, kind, json = "{}";
};

using Mutation =
    std::variant<PutCatalog, SaveExperiment, SetExperimentState, SetExperimentPlacement, DeleteExperiment, PurgeDeleted,
                 SetStageState, GrantAttempt, EndAttempt, CommitCheckpoint, PutArtifact, PinArtifact, CollectArtifact,
                 ReleaseCheckpoints, AppendLog, PutWorker, AppendEvent, Annotate, AddAttemptSample, AddWorkerSample,
                 PutAlert, ForgetAlerts, AppendDecisions, ResolveTrials, PutPrincipal, PutToken, RevokeToken, UseToken,
                 PutSession, EndSession, PutInvitation, UseInvitation, PutCertificate, RevokeCertificate, AppendAudit,
                 ForgetIdentity, PutAccount, RemoveAccount, ChargeAccount, PutExtension, RemoveExtension, PutForeign,
                 RemoveForeign>;

struct PointAppend {
  StageId stage_id = 0;
  std::int64_t attempt = 0;    // the token, checked inside the write: STALE_ATTEMPT unless newest and running
  std::int64_t first_seq = 1;  // sequences start at 1, gap-free within an attempt: SEQUENCE_GAP with expected_sequence
  PointBatch points;           // those already stored are ignored
};

}  // namespace locus

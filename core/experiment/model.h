// The nouns as plain values: experiments, cells, trials, stages, attempts, points. No behavior, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/search/rows.h"

namespace locus {

using ExperimentId = std::int64_t;
using StageId = std::int64_t;
using WorkerId = std::int64_t;

enum class ExperimentState { kActive, kPaused, kCancelled };  // "completed" follows from its stages, it is not stored
// Edges: blocked -> queued -> running -> {succeeded, queued (retry), failed, held, cancelled}; failed, held and
// cancelled -> queued or blocked only by an explicit new submission; blocked -> cancelled. Succeeded is final. A
// training that a search wants no further for now: running -> parked -> queued, from its newest checkpoint.
enum class StageState { kBlocked, kQueued, kRunning, kSucceeded, kFailed, kHeld, kCancelled, kParked };
enum class AttemptState { kRunning, kSucceeded, kFailed, kLost, kStopped, kCancelled, kParked };
// Of an experiment: urgent work comes before all other, scavenge runs on what nobody else wants.
enum class ServiceClass { kUrgent, kNormal, kScavenge };
enum class FailureClass { kNone, kPreempted, kWorkerLost, kOutOfMemory, kDiverged, kData, kCode, kTimeout, kHung };

// kebab-case, identical in API, CLI, database: "active", "out-of-memory".
const char* to_string(ExperimentState);
const char* to_string(StageState);
const char* to_string(AttemptState);
const char* to_string(FailureClass);
const char* to_string(ServiceClass);
std::optional<ExperimentState> parse_experiment_state(std::string_view);
std::optional<StageState> parse_stage_state(std::string_view);
std::optional<AttemptState> parse_attempt_state(std::string_view);
std::optional<FailureClass> parse_failure_class(std::string_view);
std::optional<ServiceClass> parse_service_class(std::string_view);

inline bool terminal(StageState s) {
  return s == StageState::kSucceeded || s == StageState::kFailed || s == StageState::kHeld ||
         s == StageState::kCancelled || s == StageState::kParked;
}

// A metric is a name, a split and canonical labels (RFC 8785 JSON object of strings or numbers; "{}" for none).
struct SeriesKey {
  std::string metric;         // "top1", "loss", "lr", "ms_per_step"
  std::string split;          // "train", "validation", "test", or "" where a split has no meaning
  std::string labels = "{}";  // {"resolution":42}
  auto operator<=>(const SeriesKey&) const = default;
};

// Points as packed columns; all but `series` are equally long. Values may be NaN or infinite.
struct PointBatch {
  std::vector<SeriesKey> series;            // dictionary of this batch
  std::vector<std::uint32_t> series_index;  // into `series`
  std::vector<std::int64_t> step;           // optimizer steps done
  std::vector<double> epoch;
  std::vector<std::int64_t> images;   // training images seen
  std::vector<Microseconds> time_us;  // wall clock of the trainer
  std::vector<double> value;
  std::size_t size() const { return value.size(); }
};

struct Point {
  std::int64_t step = 0;
  double epoch = 0;
  std::int64_t images = 0;
  Microseconds time_us = 0;
  double value = 0;
};

// A scalar of a finished stage, apart from series.
struct Result {
  SeriesKey key;
  std::string reducer;  // "last", "best", "mean"
  double value = 0;
  std::int64_t step = 0;
};

struct StageInput {
  std::string slot;             // "checkpoint"
  StageId from_stage = 0;       // 0 when given as an artifact
  std::string artifact_sha256;  // empty until the source has succeeded
};

struct StageOutput {
  std::string slot;
  std::string sha256;
  std::int64_t step = 0;
};

inline constexpr char kCopyMark = '@';  // between a dataset's id and the digest of a copy's manifest
inline constexpr int kCopyRevision = 1;

// What a stage asks of the worker and the device that run it, known when it is planned.
struct StageRequirements {
  // Of catalog items, exactly: "prior/violin" -> 1; datasets are such items, and so is a copy of one that a
  // specification names by its manifest: "dataset/photos@<sha256>" -> kCopyRevision. So is the code of others that runs some
  // of them, "extension/own-prior@<sha256>".
  std::map<std::string, int> revisions;
  bool exclusive = false;         // nothing else may run on the device meanwhile
  std::int64_t memory_bytes = 0;  // estimated that a training needs; 0: not known
  auto operator<=>(const StageRequirements&) const = default;
};
// Shared, since thousands of stages ask the same; null: nothing is asked. Immutable.
using RequirementsPtr = std::shared_ptr<const StageRequirements>;

struct ExperimentRow {
  ExperimentId id = 0;
  std::string name, owner, spec_json;  // spec_json: canonical
  std::int64_t revision = 1;           // grows when a submission extends it
  ExperimentState state = ExperimentState::kActive;
  int priority = 0;
  std::string catalog_digest;
  Microseconds created_us = 0;
  std::string reason = {};         // for people; why the server paused it by itself
  std::int64_t stage_seconds = 0;  // the longest an attempt at a stage may take; 0: no limit
  ServiceClass service_class = ServiceClass::kNormal;
  std::string placement = {};  // core/experiment/labels.h, placement_text; empty: anywhere
};

struct CellRow {
  std::int64_t ordinal = 0;
  std::string row_key;          // canonical JSON of the assignment, the cell's key within its experiment
  std::string label;            // "learned-absolute + violin"
  std::string assignment_json;  // {"prior":[{"learned-absolute":{}},{"violin":{...}}],"train.lr":0.001}
};

struct TrialRow {
  std::int64_t ordinal = 0;  // stable: an extension appends
  std::int64_t cell = 0;
  std::int64_t seed = 0;
  bool retired = false;  // no longer in the specification
};

struct TrialStageRow {
  std::int64_t trial = 0;  // ordinal
  std::string role;        // "train", "evaluate", "evaluate-2" when a kind is listed twice
  StageId stage_id = 0;
  std::int64_t until_step = kToTheEnd;
};

struct StageRow {
  StageId id = 0;
  std::string identity;     // SHA-256 hex of the scientific configuration
  std::string kind;         // catalog id of the stage kind
  std::string config_json;  // canonical, scientific fields only
  std::int64_t seed = 0;
  StageState state = StageState::kBlocked;
  FailureClass failure_class = FailureClass::kNone;
  std::string reason;               // for people; why it failed, is held or waits
  std::int64_t attempt = 0;         // newest attempt number = fencing token; 0 before the first grant
  int failures = 0;                 // attempts that ended by a fault of the work
  int faults = 0;                   // attempts that ended by a fault of the infrastructure
  Microseconds retry_delay_us = 0;  // back-off in force, counted anew from server start
  std::vector<StageInput> inputs;
  std::vector<StageOutput> outputs;
  RequirementsPtr requirements;
};

struct AttemptRow {
  StageId stage_id = 0;
  std::int64_t number = 0;  // `attempt` wherever else it is spoken of
  WorkerId worker_id = 0;
  std::string session;
  AttemptState state = AttemptState::kRunning;
  FailureClass failure_class = FailureClass::kNone;
  std::string reason;
  std::int64_t resume_step = 0;
  std::string resume_sha256;
  std::int64_t acked_seq = 0;
  Microseconds started_us = 0, ended_us = 0;
  std::string environment_json = "{}";                 // device, dtype, threads, execution path, build
  std::vector<int> slots = {};                         // of the worker, as granted
  std::int64_t log_bytes = 0;                          // printed by its trainer and stored; only the end of it is kept
  std::int64_t until_step = kToTheEnd;                 // its stop point as granted
  ServiceClass service_class = ServiceClass::kNormal;  // as granted
  std::vector<std::string> accounts = {};              // that it is charged to, in equal parts; empty: nobody knows
};

struct CheckpointRow {
  StageId stage_id = 0;
  std::int64_t attempt = 0;
  std::int64_t step = 0;
  std::string sha256;
  bool best = false;
};

struct ArtifactRow {
  std::string sha256, kind, uri;  // uri: "store:" + sha256 for the server's own folder
  std::int64_t bytes = 0;
  bool pinned = false;
  Microseconds created_us = 0;  // or last uploaded; what nothing names yet is safe for a while
};

enum class WorkerState { kActive, kDraining, kOffline };
// What a drain asks for: no new work, or also that running work is saved and stopped.
enum class Drain { kNone, kNoNewWork, kStopWork };
const char* to_string(WorkerState);
std::optional<WorkerState> parse_worker_state(std::string_view);

struct WorkerRow {
  WorkerId id = 0;
  std::string name;     // unique; of two daemons under one name the one that lives keeps it
  std::string session;  // random, new at each daemon start
  std::string host, version;
  std::string slots_json;  // [{"device":"cpu","index":0,"threads":1}, ...]
  std::string catalog_digest;
  WorkerState state = WorkerState::kActive;
  Microseconds seen_us = 0;      // wall clock, for people
  Drain drain = Drain::kNone;    // outlives restarts of worker and server
  std::string reason = {};       // why it drains
  std::string instance = {};     // of its work folder and boot, which two living daemons never share; empty: unknown
  Microseconds since_us = 0;     // wall clock; when its present session registered
  std::string data_json = {};    // {"held":["ID"],"missing":{"ID":"why"}}; empty: says nothing, holds everything
  bool forgotten = false;        // left out of lists until it comes back
  std::string labels_json = {};  // core/experiment/labels.h, labels_text
  // Wall clock; until then a drain waits, and the worker is given what is estimated to end before. 0: it holds.
  Microseconds drain_from_us = 0;

  bool drained() const { return drain != Drain::kNone && drain_from_us == 0; }
  bool drains_later() const { return drain != Drain::kNone && drain_from_us > 0; }
};

struct EventRow {
  std::int64_t id = 0;  // grows by commit order; the cursor of watchers
  Microseconds time_us = 0;
  std::string subject;  // "experiments/NAME", "stages/ID", "workers/NAME"
  std::string kind;     // "experiment-created", "stage-state", "attempt-started", "points", ...
  std::string json = "{}";
};

}  // namespace locus

// The store port: everything durable. Writes are mutations applied atomically, reads are queries.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/experiment/load.h"
#include "core/experiment/metadata.h"
#include "core/experiment/model.h"
#include "core/ports/curves.h"
#include "core/ports/identity.h"
#include "core/ports/mutations.h"
#include "core/ports/queries.h"
#include "core/ports/snapshot.h"

namespace locus {

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
  virtual absl::StatusOr<std::vector<ExtensionRow>> extensions() = 0;  // by name
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
  virtual absl::StatusOr<std::vector<StageReference>> references(StageId id) = 0;
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
  // Stages that name it: by a checkpoint, an output, an input, or what a running attempt resumed from.
  virtual absl::StatusOr<std::set<StageId>> stages_naming(const std::string& sha256) = 0;
  virtual absl::StatusOr<std::vector<WorkerRow>> workers() = 0;
  virtual absl::StatusOr<std::vector<EventRow>> events(std::int64_t after, int limit) = 0;
  virtual absl::StatusOr<std::int64_t> last_event() = 0;
  virtual absl::StatusOr<std::int64_t> attempts_started() = 0;  // over the store's whole life

  virtual absl::StatusOr<Deletion> deletion(ExperimentId id) = 0;  // what its end takes with it, all pieces together
  virtual absl::StatusOr<Purge> next_purge(int trials) = 0;        // what PurgeDeleted of as many would take
  virtual absl::StatusOr<std::vector<AttemptRow>> attempts_of_worker(WorkerId id,
                                                                     int limit) = 0;  // newest first
  // Stored text from `offset` on, at most `most` bytes; from the oldest kept when that is gone.
  virtual absl::StatusOr<LogView> log(StageId id, std::int64_t attempt, std::int64_t offset, std::int64_t most) = 0;
  // By digest, after this one; "" from the first.
  virtual absl::StatusOr<std::vector<ArtifactView>> artifacts(const std::string& after, int limit) = 0;
  // Stages after this one with checkpoints that ReleaseCheckpoints would drop.
  virtual absl::StatusOr<std::vector<StageId>> stages_to_release(StageId after, int limit) = 0;
  // By trial, kWholeExperiment first; those without tags and note are left out.
  virtual absl::StatusOr<std::map<std::int64_t, Annotation>> annotations(ExperimentId id) = 0;
  // Imports by digest, their series by key; `points` says how many where the columns are not asked for. Imports without
  // a series of that key are left out.
  virtual absl::StatusOr<std::vector<ForeignImport>> foreign(ExperimentId id, const ForeignQuery& query) = 0;
  // By attempt and time.
  virtual absl::StatusOr<std::vector<AttemptSample>> samples(StageId id) = 0;
  virtual absl::StatusOr<std::vector<SystemSample>> worker_samples(WorkerId id) = 0;  // oldest first
  virtual absl::StatusOr<std::vector<AlertRow>> alerts() = 0;                         // by experiment
  virtual absl::StatusOr<SearchRow> search(ExperimentId id) = 0;          // NOT_FOUND where nothing was decided
  virtual absl::StatusOr<std::vector<SearchRow>> running_searches() = 0;  // of experiments that are not deleted, by id
  virtual absl::StatusOr<std::vector<DecisionRow>> decisions(ExperimentId id, std::int64_t after,
                                                             int limit) = 0;  // by number; limit 0: all
  // The client's decision of that request: its experiment and number. NOT_FOUND.
  virtual absl::StatusOr<std::pair<ExperimentId, std::int64_t>> decision_of_request(const std::string& request_id) = 0;
  virtual IdentityReads& identity() = 0;  // lives as long as the store
  // What experiments of that owner have, but this one.
  virtual absl::StatusOr<AccountUse> account_use(const std::string& owner, ExperimentId but) = 0;
  // Writes a consistent copy of the database to `file`, which must not exist, while reads and writes go on.
  // Returns its schema version. UNIMPLEMENTED for a store without a file.
  virtual absl::StatusOr<int> copy_to(const std::filesystem::path& file) = 0;
  virtual absl::StatusOr<StoreReport> check() = 0;  // reads everything: seconds for a large database
};

}  // namespace locus

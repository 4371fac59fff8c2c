// The reads of the store port, each on one connection inside the caller's snapshot. They throw SqliteError.
#pragma once

#include "core/experiment/foreign.h"
#include "core/ports/curves.h"
#include "core/ports/queries.h"
#include "core/ports/snapshot.h"
#include "storage/sqlite/connection.h"

namespace locus::sqlite {

Snapshot load_snapshot(Connection& db);

absl::StatusOr<ExperimentRow> find_experiment(Connection& db, ExperimentId id);
absl::StatusOr<ExperimentRow> find_experiment(Connection& db, const std::string& name);
std::vector<ExperimentRow> list_experiments(Connection& db, ExperimentId before, int limit);
absl::StatusOr<StageCounts> count_stages(Connection& db, ExperimentId id);
absl::StatusOr<std::vector<CellRow>> list_cells(Connection& db, ExperimentId id);
absl::StatusOr<std::vector<TrialView>> list_trials(Connection& db, ExperimentId id, std::int64_t after, int limit);
absl::StatusOr<std::vector<ResultView>> list_results(Connection& db, ExperimentId id);
absl::StatusOr<std::vector<ResultView>> list_results(Connection& db, ExperimentId id, const std::string& metric);
absl::StatusOr<StageBriefs> list_briefs(Connection& db, ExperimentId id);

std::map<std::string, StageRow> find_stages(Connection& db, std::span<const std::string> identities);
std::vector<PastRun> list_past_runs(Connection& db, const std::string& load, int limit);
absl::StatusOr<StageRow> find_stage(Connection& db, StageId id);
absl::StatusOr<std::vector<AttemptRow>> list_attempts(Connection& db, StageId id);
absl::StatusOr<std::vector<CheckpointRow>> list_checkpoints(Connection& db, StageId id);
absl::StatusOr<std::vector<StageReference>> list_references(Connection& db, StageId id);
absl::StatusOr<std::vector<Result>> list_stage_results(Connection& db, StageId id);
absl::StatusOr<std::vector<SeriesRow>> list_series(Connection& db, StageId id);
absl::StatusOr<std::vector<SeriesRow>> list_series_of(Connection& db, ExperimentId id);
absl::StatusOr<std::int64_t> find_series(Connection& db, StageId id, const SeriesKey& key);  // its id
absl::StatusOr<SeriesPoints> find_points(Connection& db, StageId id, const SeriesKey& key, int max_points,
                                         StepRange range);
absl::StatusOr<std::vector<SeriesBlock>> find_blocks(Connection& db, StageId id, const SeriesKey& key, int shift,
                                                     StepRange range);

std::vector<WorkerRow> list_workers(Connection& db);
std::vector<EventRow> list_events(Connection& db, std::int64_t after, int limit);

absl::StatusOr<Deletion> find_deletion(Connection& db, ExperimentId id);
Purge find_purge(Connection& db, int trials);
std::vector<AttemptRow> list_attempts_of_worker(Connection& db, WorkerId id, int limit);
absl::StatusOr<LogView> find_log(Connection& db, StageId id, std::int64_t attempt, std::int64_t offset,
                                 std::int64_t most);
std::vector<ArtifactView> list_artifacts(Connection& db, const std::string& after, int limit);
std::vector<StageId> list_stages_to_release(Connection& db, StageId after, int limit);
absl::StatusOr<std::map<std::int64_t, Annotation>> list_annotations(Connection& db, ExperimentId id);
std::vector<AttemptSample> list_samples(Connection& db, StageId id);
std::vector<SystemSample> list_worker_samples(Connection& db, WorkerId id);
std::vector<AlertRow> list_alerts(Connection& db);
std::vector<ForeignImport> list_foreign(Connection& db, ExperimentId id, const ForeignQuery& query);
std::vector<ExtensionRow> list_extensions(Connection& db);  // by name
absl::StatusOr<SearchRow> find_search(Connection& db, ExperimentId id);
std::vector<SearchRow> list_running_searches(Connection& db);
absl::StatusOr<std::vector<DecisionRow>> list_decisions(Connection& db, ExperimentId id, std::int64_t after, int limit);
absl::StatusOr<std::pair<ExperimentId, std::int64_t>> find_decision_of_request(Connection& db,
                                                                               const std::string& request_id);
// Of searches and what has parked; nothing of a file of an earlier schema.
std::vector<std::string> list_search_problems(Connection& db);
std::vector<std::string> list_problems(Connection& db);  // of the file, in SQLite's words

// Fills in the inputs and outputs of a stage.
void complete_stage(Connection& db, StageRow& row);

}  // namespace locus::sqlite

// Experiments and trials as people see them: stored rows plus what is running now.
#pragma once

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/analysis/outline_cache.h"
#include "server/application/best_row.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/search_runner.h"

namespace locus::server {

// Thread-safe; blocks on the store and on the strand. Everything given must outlive it.
class ExperimentViews {
 public:
  ExperimentViews(Store& store, ArtifactStore& artifacts, Coordinator& coordinator, OutlineCache& outlines,
                  Leaderboards& leaderboards, SearchRunner& searches, Clock& clock)
      : store_(store),
        artifacts_(artifacts),
        coordinator_(coordinator),
        outlines_(outlines),
        leaderboards_(leaderboards),
        best_(leaderboards),
        searches_(searches),
        clock_(clock) {}

  absl::StatusOr<v1::Experiment> get(const v1::GetExperimentRequest& request);
  absl::StatusOr<v1::ListExperimentsResponse> list(const v1::ListExperimentsRequest& request);
  absl::StatusOr<v1::ListTrialsResponse> trials(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::TrialDetail> trial(const v1::GetTrialRequest& request);

 private:
  struct Running {
    std::string worker;
    StatedAttempt lease;
    std::vector<TrialReference> references;
  };
  std::vector<Running> running();
  absl::StatusOr<v1::Experiment> view(const ExperimentRow& row, const std::vector<Running>& running, bool in_list);
  absl::Status fill_running(const ExperimentRow& row, const std::vector<Running>& running, v1::Experiment* out);
  absl::Status fill_search(const ExperimentRow& row, const StageCounts& counts, v1::Experiment* out);
  absl::StatusOr<std::map<std::int64_t, std::string>> cell_labels(const ExperimentRow& row);
  absl::StatusOr<std::vector<v1::Trial>> to_trials(const ExperimentRow& row, const std::vector<TrialView>& views,
                                                   const std::map<std::int64_t, std::string>& labels);
  absl::StatusOr<std::vector<ExperimentRow>> rows_with(const v1::ListExperimentsRequest& request, ExperimentId before,
                                                       std::size_t most);
  absl::Status fill_checkpoints(const StageRow& stage, const std::vector<AttemptRow>& attempts, v1::StageDetail* out);
  absl::Status fill_stage(const TrialStageView& view, const std::map<WorkerId, std::string>& names,
                          v1::StageDetail* out);

  Store& store_;
  ArtifactStore& artifacts_;
  Coordinator& coordinator_;
  OutlineCache& outlines_;
  Leaderboards& leaderboards_;
  BestRows best_;
  SearchRunner& searches_;
  Clock& clock_;
};

}  // namespace locus::server

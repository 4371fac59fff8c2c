// Questions to the store that several answers ask. Each blocks.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"

namespace locus {

// Every trial by ordinal, retired ones included.
absl::StatusOr<std::vector<TrialView>> all_trials(Store& store, ExperimentId id);

// Results by stage, ready for look-ups.
using ResultsByStage = std::map<StageId, std::vector<Result>>;
absl::StatusOr<ResultsByStage> all_results(Store& store, ExperimentId id);

// What the stages that succeeded ran on, JSON.
std::map<StageId, std::string> environments_by_stage(const StageBriefs& briefs);

// "NAME/17" -> NAME and 17; INVALID_ARGUMENT.
absl::StatusOr<std::pair<std::string, std::int64_t>> parse_trial_name(const std::string& name);

// A trial by its name. TRIAL_NOT_FOUND, EXPERIMENT_NOT_FOUND, INVALID_NAME.
struct TrialOf {
  ExperimentRow experiment;
  TrialView view;
};
absl::StatusOr<TrialOf> find_trial(Store& store, const std::string& name);

}  // namespace locus

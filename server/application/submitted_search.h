// Submissions of experiments with a search or phases: what their log begins with, and what stays of their links.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "core/search/fold.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/application/planned_phases.h"
#include "server/application/submission.h"

namespace locus::server {

// The fold of a stored log, an empty one where there is none. DATA_LOSS where it does not read. Blocks on the store.
absl::StatusOr<Fold> stored_fold(Store& store, ExperimentId experiment);

// Whether a stage that a trial still wants has failed, is held or was cancelled.
bool any_revivable(const Merge& merged);

// What each phase has, where there are several, and how many trials wait for a choice.
void add_phases(const PlannedExperiment& planned, const std::map<std::string, StageRow>& stored, v1::Plan* out);

}  // namespace locus::server

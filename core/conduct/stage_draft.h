// Stored stages as submissions, reruns and searches name them to the scheduler.
#pragma once

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"

namespace locus {

// The stage with what its revival would need, where it has ended without success; `inputs` are the caller's to fill.
// Blocks on `store`, whose errors it returns.
absl::StatusOr<ExperimentSubmitted::StageDraft> stage_draft(Store& store, const StageRow& row);

// Adds a stored stage with everything it takes inputs from, where they are not among `stages` yet. Blocks likewise.
absl::Status add_stored_stage(Store& store, const StageRow& row,
                              std::map<std::string, ExperimentSubmitted::StageDraft>& stages);

}  // namespace locus

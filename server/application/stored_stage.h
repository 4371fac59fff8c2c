// Stored stages as submissions and reruns name them to the scheduler.
#pragma once

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"

namespace locus::server {

// Failed, held or cancelled: may be queued again.
bool revivable(StageState state);

// The stage with what its revival would need, where it can be revived; `inputs` are the caller's to fill.
// Blocks on `store`, whose errors it returns.
absl::StatusOr<ExperimentSubmitted::StageDraft> draft_of(Store& store, const StageRow& row);

}  // namespace locus::server

// Stored stages as submissions and reruns name them to the scheduler.
#pragma once

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"

namespace locus::server {

// The state of a trial is that of its stage of the lowest rank, its least finished one; a failure shows before waiting does.
int rank_of(StageState state);

// Failed, held or cancelled: may be queued again. What is parked waits for its search instead.
bool revivable(StageState state);

// The stage with what its revival would need, where it can be revived; `inputs` are the caller's to fill.
// Blocks on `store`, whose errors it returns.
absl::StatusOr<ExperimentSubmitted::StageDraft> draft_of(Store& store, const StageRow& row);

}  // namespace locus::server

// What a revival needs, looked up.
#include "server/application/stored_stage.h"

#include <algorithm>
#include <iterator>

#include "core/conduct/stage_draft.h"

namespace locus::server {

int rank_of(StageState state) {
  constexpr StageState kOrder[] = {StageState::kFailed,  StageState::kHeld,     StageState::kCancelled,
                                   StageState::kRunning, StageState::kQueued,   StageState::kParked,
                                   StageState::kBlocked, StageState::kSucceeded};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), state) - std::begin(kOrder));
}

bool revivable(StageState state) {
  return terminal(state) && state != StageState::kSucceeded && state != StageState::kParked;
}

absl::StatusOr<ExperimentSubmitted::StageDraft> draft_of(Store& store, const StageRow& row) {
  return stage_draft(store, row);
}

}  // namespace locus::server

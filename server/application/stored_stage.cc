// What a revival needs, looked up.
#include "server/application/stored_stage.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "core/experiment/retention.h"

namespace locus::server {

int rank_of(StageState state) {
  constexpr StageState kOrder[] = {StageState::kFailed,   StageState::kHeld,   StageState::kCancelled,
                                   StageState::kRunning,  StageState::kQueued, StageState::kBlocked,
                                   StageState::kSucceeded};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), state) - std::begin(kOrder));
}

bool revivable(StageState state) { return terminal(state) && state != StageState::kSucceeded; }

absl::StatusOr<ExperimentSubmitted::StageDraft> draft_of(Store& store, const StageRow& row) {
  ExperimentSubmitted::StageDraft draft;
  draft.row = row;
  if (!revivable(row.state)) return draft;
  LOCUS_ASSIGN_OR_RETURN(const auto checkpoints, store.checkpoints(row.id));
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store.attempts(row.id));
  draft.resume = newest_checkpoint(checkpoints, attempts);
  LOCUS_ASSIGN_OR_RETURN(draft.references, store.references(row.id));
  return draft;
}

}  // namespace locus::server

// What a revival needs, looked up.
#include "core/conduct/stage_draft.h"

#include "core/base/error.h"
#include "core/experiment/retention.h"

namespace locus {

absl::StatusOr<ExperimentSubmitted::StageDraft> stage_draft(Store& store, const StageRow& row) {
  ExperimentSubmitted::StageDraft draft;
  draft.row = row;
  if (!terminal(row.state) || row.state == StageState::kSucceeded) return draft;
  LOCUS_ASSIGN_OR_RETURN(const auto checkpoints, store.checkpoints(row.id));
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store.attempts(row.id));
  draft.resume = newest_checkpoint(checkpoints, attempts);
  LOCUS_ASSIGN_OR_RETURN(draft.references, store.references(row.id));
  return draft;
}

absl::Status add_stored_stage(Store& store, const StageRow& row,
                              std::map<std::string, ExperimentSubmitted::StageDraft>& stages) {
  const auto [slot, fresh] = stages.try_emplace(row.identity);
  if (!fresh) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(slot->second, stage_draft(store, row));
  for (const StageInput& input : row.inputs) {
    if (input.from_stage == 0) continue;
    LOCUS_ASSIGN_OR_RETURN(const StageRow source, store.stage(input.from_stage));
    stages.at(row.identity).inputs.push_back({input.slot, source.identity});
    LOCUS_RETURN_IF_ERROR(add_stored_stage(store, source, stages));
  }
  return absl::OkStatus();
}

}  // namespace locus

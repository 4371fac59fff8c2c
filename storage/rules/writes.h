// What every store must check and change: the mutations and appends of core/ports/mutations.h, over any Rows.
#pragma once

#include <set>
#include <span>

#include "absl/status/statusor.h"
#include "core/experiment/retention.h"
#include "core/ports/mutations.h"
#include "storage/rules/rows.h"

namespace locus {

// Applies in order; the first refusal ends it. The caller rolls back everything when the status is not OK.
absl::Status apply_mutations(Rows& rows, std::span<const Mutation> mutations, Microseconds now_wall_us);

// The checkpoints of a stage that retention lets go of. Reads only.
std::vector<CheckpointRow> spare_checkpoints(Rows& rows, StageRow stage);

// As Store::append. Checks everything before it changes anything. `stored` tells how many points were new.
absl::StatusOr<std::int64_t> append_points(Rows& rows, const PointAppend& append, std::size_t* stored);

// Whether a mutation writes an event, so that watchers are told.
bool writes_events(std::span<const Mutation> mutations);
// Whose Store::counts they may change: of these experiments, and of every one that links one of these stages.
struct Recounted {
  std::set<ExperimentId> experiments;
  std::set<StageId> stages;
};
Recounted recounted_by(std::span<const Mutation> mutations);

}  // namespace locus

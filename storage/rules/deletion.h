// What a deletion takes with it, and in which pieces.
#pragma once

#include "core/ports/mutations.h"
#include "core/ports/queries.h"
#include "storage/rules/rows.h"

namespace locus {

// Reads only, as the functions below. A stage goes when no other experiment links it and nothing that stays takes
// an input from it.
Deletion plan_deletion(Rows& rows, ExperimentId id);

// Whether a stage of this experiment would go with it.
bool goes_with(Rows& rows, StageId stage, ExperimentId id);

// One piece of what deleted experiments leave.
struct PurgePlan {
  ExperimentId experiment = 0;         // 0: nothing is left
  std::int64_t last_trial = -1;        // trials up to here go; -1: none is left, so cells go
  std::vector<StageId> stages;         // that go with them
  std::int64_t attempts = 0;           // of these stages
  std::vector<std::string> artifacts;  // nothing else names them, and they are not pinned
};
// At most so many trials, and no further one once their stages hold some MiB of points and logs.
PurgePlan plan_purge(Rows& rows, int trials);
// Takes such a piece away, for good; nothing where nothing is left.
absl::Status purge_deleted(Rows& rows, const PurgeDeleted& m);

}  // namespace locus

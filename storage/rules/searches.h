// What every store must check and change for searches.
#pragma once

#include "absl/status/status.h"
#include "core/ports/mutations.h"
#include "storage/rules/rows.h"

namespace locus {

// As the mutations say.
absl::Status append_decisions(Rows& rows, const AppendDecisions& mutation, Microseconds now_wall_us);
absl::Status resolve_trials(Rows& rows, const ResolveTrials& mutation);

}  // namespace locus

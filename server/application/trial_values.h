// The results that a list of trials carries beside each.
#pragma once

#include "absl/status/status.h"
#include "core/ports/queries.h"
#include "locus/v1/trial.pb.h"
#include "server/analysis/leaderboard_query.h"

namespace locus::server {

// Gives the trials of `out`, all of experiment `row`, a value for each of the request's metrics, and says what the
// columns are and what else there is. The numbers are the leaderboards', which keeps them: one query for all trials
// whenever a result has come, none for a further page. INVALID_ARGUMENT naming `metrics` for one that is not there or
// for too many. Blocks.
absl::Status fill_values(Leaderboards& leaderboards, const ExperimentRow& row, const StageCounts& counts,
                         const v1::ListTrialsRequest& request, v1::ListTrialsResponse* out);

}  // namespace locus::server

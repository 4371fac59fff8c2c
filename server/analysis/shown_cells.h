// What of the cells of an experiment its tables show.
#pragma once

#include "server/analysis/leaderboard_query.h"

namespace locus::server {

// What of a search's cells a table shows, and how.
struct ShownCells {
  Outline outline;               // of the cells that are shown
  bool one_row_a_group = false;  // the proposal that was chosen stands for each group
};
// Pure. `proposals`: all of them are asked for.
ShownCells shown_cells(const LeaderboardSource& source, bool proposals);

// Cells that their search did not send to the end, by ordinal (core/analysis/tuned.h); none without a search. DATA_LOSS where its log does
// not read. Blocks.
absl::StatusOr<std::map<std::int64_t, std::string>> read_standings(Store& store, ExperimentId id);

}  // namespace locus::server

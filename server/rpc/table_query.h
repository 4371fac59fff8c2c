// The leaderboard of an experiment: gathers what the table needs, lets core/statistics compute it, writes it
// down.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/rpc/outline.h"
#include "server/rpc/queries.h"

namespace locus::server {

// Everything a table of one experiment is computed from, as stored.
struct TableSource {
  std::string experiment;
  Outline outline;
  std::vector<CellRow> cells;
  std::vector<TrialView> trials;
  ResultsByStage results;
  std::map<StageId, std::string> environments;  // of succeeded stages, JSON
};

// Pure. `request` may name another metric, split or label set than the contract's. INVALID_ARGUMENT for
// labels of another form.
absl::StatusOr<v1::Table> compute_table(const TableSource& source, const v1::GetTableRequest& request);

// Everything stored that a table is computed from. Blocks. Thread-safe.
absl::StatusOr<TableSource> read_table_source(Store& store, OutlineCache& outlines, const ExperimentRow& row);

// Reads the source and computes. Blocks. Thread-safe.
absl::StatusOr<v1::Table> get_table(Store& store, OutlineCache& outlines, const v1::GetTableRequest& request);

}  // namespace locus::server

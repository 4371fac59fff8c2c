// What the pivot table is computed from: the experiments as stored, results of the metrics asked for only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/analysis_service.pb.h"
#include "server/analysis/outline_cache.h"

namespace locus::server {

// A column's metric, completed from the request, the contract and the catalog.
struct PivotMetric {
  std::string metric, split, reduce, unit;
  std::string direction;  // "max", "min", or empty: it was not declared, so nothing is marked best
  std::string labels;     // canonical, or empty: chosen by the table
  std::string title;      // "top1", "loss (validation)"; unique within the table
};

struct PivotTrial {
  std::int64_t ordinal = 0, cell = 0, seed = 0;
  std::size_t first = 0, last = 0;  // its stages within StageBriefs::stages
  bool failed = false;              // a stage ended in failure or is held
};

// The results of one metric of one experiment: by stage, the index of the label set and the value the reducer
// gives.
struct MetricValues {
  std::vector<std::string> label_sets;  // canonical
  std::unordered_map<StageId, std::vector<std::pair<int, double>>> by_stage;
};

struct PivotSource {
  std::string name;
  std::shared_ptr<const Outline> outline;
  std::vector<CellRow> cells;
  StageBriefs briefs;
  std::vector<PivotTrial> trials;
  std::vector<MetricValues> metrics;  // by PivotMetric
  // Of a search: cells that it did not send to the end, by ordinal; whether the chosen proposal stands for each group, its outline
  // being that of these cells then; and what chose the rows, for people.
  std::map<std::int64_t, std::string> standing;
  bool one_row_a_group = false;
  std::string chosen_by;
};

struct PivotSources {
  std::vector<PivotSource> experiments;
  std::vector<PivotMetric> metrics;
};

// INVALID_ARGUMENT for no or more than 16 experiments, or more than 16 metrics.
absl::Status check_size(const v1::GetPaperTableRequest& request);

// Blocks. INVALID_ARGUMENT for no or more than 16 experiments, one named twice, a metric or split that is
// neither declared nor measured; EXPERIMENT_NOT_FOUND.
absl::StatusOr<PivotSources> read_pivot_sources(Store& store, OutlineCache& outlines,
                                                const v1::GetPaperTableRequest& request);

}  // namespace locus::server

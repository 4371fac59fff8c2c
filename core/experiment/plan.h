// From a specification to cells, trials and stages with identities. Pure: the same document and catalog give the same plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"
#include "core/experiment/model.h"

namespace locus {

struct MetricContract {
  std::string name, reports = "test", selects_on = "validation", direction = "max", reduce = "last", unit;
};

struct PlannedStage {
  std::string role, kind, identity, config_json;
  std::vector<std::pair<std::string, std::string>> inputs;  // slot -> identity of the stage it comes from
};
struct PlannedTrial { std::int64_t cell = 0, seed = 0; std::vector<PlannedStage> stages; };  // in dependency order
struct PlannedCell { std::string row_key, label, assignment_json; bool baseline = false; std::int64_t pair_group = 0; };

struct ExperimentPlan {
  std::string name, owner, description, dataset, task;
  std::string spec_json;              // canonical form of what was submitted
  int priority = 0;
  std::vector<std::int64_t> seeds;
  std::vector<PlannedCell> cells;
  std::vector<PlannedTrial> trials;   // by cell, then seed
  std::vector<std::string> factors;   // config paths of the matrix, in order
  bool has_baseline = false;
  MetricContract metric;
  Json evaluation_labels = Json::object();  // labels of the primary result: {"resolution": 28}
  std::string matched;                // "only the prior differs", or what else differs between the cells
  std::vector<std::string> warnings;
};

// Validates against the catalog and expands. Every error is INVALID_ARGUMENT (RESOURCE_EXHAUSTED for TOO_MANY_TRIALS, decided
// before anything is expanded) with reason and field path.
absl::StatusOr<ExperimentPlan> plan_experiment(const Json& specification, const Catalog& catalog);

}  // namespace locus

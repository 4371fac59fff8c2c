// From a specification to cells, trials and stages with identities. Pure: the same document and catalog give the same plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"
#include "core/experiment/plan.h"

namespace locus {

// Validates against the catalog and expands. Every error is INVALID_ARGUMENT (RESOURCE_EXHAUSTED for TOO_MANY_TRIALS, decided
// before anything is expanded) with reason and field path.
absl::StatusOr<ExperimentPlan> plan_experiment(const Json& specification, const Catalog& catalog);

// What a client proposes to a search: config path -> value, each path of the space once.
using ProposedCells = std::vector<std::map<std::string, Json>>;
// The plan of a search with propose: external and these proposals, in order; without any, that of plan_experiment(), it has no cells yet. A path
// outside the space, one that is missing and a value outside its bounds are refused at "cells[2].train.lr"; what the values
// break together, where the specification has them.
absl::StatusOr<ExperimentPlan> plan_proposed(const Json& specification, const Catalog& catalog,
                                             const ProposedCells& proposed);

}  // namespace locus

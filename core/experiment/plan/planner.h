// From a specification to cells, trials and stages with identities. Pure: the same document and catalog give the same plan.
#pragma once

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"
#include "core/experiment/plan.h"

namespace locus {

// Validates against the catalog and expands. Every error is INVALID_ARGUMENT (RESOURCE_EXHAUSTED for TOO_MANY_TRIALS, decided
// before anything is expanded) with reason and field path.
absl::StatusOr<ExperimentPlan> plan_experiment(const Json& specification, const Catalog& catalog);

}  // namespace locus

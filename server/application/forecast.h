// What a plan costs: parameters, memory, expected time, and whether anybody connected could run it.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/catalog/catalog.h"
#include "core/experiment/plan.h"
#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "locus/v1/experiment_service.pb.h"

namespace locus::server {

// Fills in what a plan says of costs, and adds warnings. `stored`: the plan's stages that are stored, by identity;
// `out` has its cells and kinds listed already. Reads past runs from the store, a bounded number; blocks on it.
absl::Status add_forecast(Store& store, const Catalog& catalog, const Fleet& fleet, const ExperimentPlan& plan,
                          const std::map<std::string, StageRow>& stored, v1::Plan* out);

}  // namespace locus::server

// What a client proposes, as a conductor takes it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "core/conduct/conduct.h"
#include "core/experiment/plan/planner.h"
#include "core/ports/store.h"

namespace locus::server {

// Validates the cells as a specification that lists them (plan_proposed(); refusals at "cells[2].train.lr") and makes the cells, trials
// and units of them that they are in the phase under way, one proposal each with the cells of every group, in the order given; values given
// twice are one proposal. Where the phase chooses, its units are told as candidates. `proposer` names who asks: "optuna 5.0.0 TPE".
// FAILED_PRECONDITION (WRONG_STATE) for a search that draws its own. Who asks and by which request is the caller's to fill. Blocks on
// the store for the catalog of the experiment.
absl::StatusOr<SearchWish> proposed_wish(Store& store, const Catalog& catalog, const ExperimentRow& row,
                                         const Fold& fold, const ProposedCells& cells, const std::string& proposer);

}  // namespace locus::server

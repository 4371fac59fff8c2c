// Plans what a document says with changes that no document can say: proposals of a client, choices of an earlier phase.
#pragma once

#include <functional>

#include "core/experiment/plan/planner.h"
#include "core/experiment/plan/specification.h"

namespace locus {

// Changes what was read before it is expanded; notes what cannot be.
using SpecificationChange = std::function<void(Specification&, Mistakes&)>;

// As plan_experiment().
absl::StatusOr<ExperimentPlan> plan_changed(const Json& specification, const Catalog& catalog,
                                            const SpecificationChange& change);

// A client's proposals become those of the search, as plan_proposed() has it; nothing without any.
void take_proposals(const ProposedCells& proposed, Specification& spec, Mistakes& mistakes);

}  // namespace locus

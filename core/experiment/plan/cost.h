// What a cell costs, estimated from the catalog's formulas.
#pragma once

#include "core/experiment/plan/identity.h"

namespace locus {

// Of a cell with dataset, model and recipe; without priors (a mistake elsewhere) it is the bare model's.
CellCost cost_of(const Configuration& cell);

// Samples that a training with these options of a recipe computes at once.
double batch_at_once(const Json& recipe);

}  // namespace locus

// What a cell costs, estimated from the catalog's formulas.
#pragma once

#include "core/experiment/plan/identity.h"

namespace locus {

// Of a cell with dataset, model and recipe; without priors (a mistake elsewhere) it is the bare model's.
CellCost cost_of(const Configuration& cell);

}  // namespace locus

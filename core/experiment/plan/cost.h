// What a cell costs, estimated from the catalog's formulas.
#pragma once

#include <cstdint>

#include "core/experiment/plan/identity.h"

namespace locus {

// Of one training; -1 where the catalog has no formula (docs/formats/catalog.md).
struct CellCost {
  double parameters = -1;    // of backbone and head, what priors add left out
  double memory_bytes = -1;  // weights, gradients, optimizer and activations of a batch, in float32
  std::int64_t steps = -1;   // of the optimizer
};
CellCost cost_of(const Configuration& cell);

}  // namespace locus

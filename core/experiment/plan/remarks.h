// What a plan warns of: settings that are allowed and do not do what they say.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/plan/cost.h"

namespace locus {

// Numbers of the recipe that the dataset cannot fill: a limit above its images, a batch above those used.
std::vector<std::string> unfilled(const Configuration& cell);

// LIMIT_EXCEEDED, with the estimate, for a training that would need more than `memory_gib`.
absl::Status check_size(const Configuration& cell, const CellCost& cost, double memory_gib);

}  // namespace locus

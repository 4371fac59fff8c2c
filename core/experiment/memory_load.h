// What the memory of a stage on its device depends on: by it what others took is found.
#pragma once

#include <string>

#include "core/base/json.h"

namespace locus {

// A name for all stages that take the same memory: kind, data, task, network, batch and precision, whatever the seed, rates
// and epochs. `configuration` is that of a stage (docs/formats/catalog.md). Workers keep these names in files. Pure.
std::string memory_load_of(const Json& configuration);
// The same of a training with that batch, from the configuration of a measurement of its network.
std::string memory_load_of_training(const Json& measurement, const Json& batch);

}  // namespace locus

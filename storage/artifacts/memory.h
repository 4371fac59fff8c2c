// Artifacts in memory: for tests and simulation.
#pragma once

#include <memory>

#include "core/ports/artifacts.h"

namespace locus {

std::unique_ptr<ArtifactStore> make_memory_artifacts();

}  // namespace locus

// A stage's data, read through before its first step.
#pragma once

#include <memory>

#include "engine/data/dataset.h"
#include "engine/stage/stage.h"

namespace locus::engine {

// Prepares the dataset (Dataset::prepare), tells the observer how far that is, and notes in the context's environment what was used of it, as
// "data". Returns the dataset. Throws as Dataset::prepare, and what the observer throws.
std::shared_ptr<Dataset> prepared(std::shared_ptr<Dataset> dataset, StageContext& context);

}  // namespace locus::engine

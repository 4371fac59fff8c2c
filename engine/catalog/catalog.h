// Everything the engine can do, as data.
#pragma once

#include "engine/base/item.h"

namespace locus::engine {

// The document of docs/formats/catalog.md: every line of priors.def, backbones.def, datasets.def, inputs.def, tasks.def, recipes.def
// and stages.def, in order, the sections of sections.def, and behind them what plugins brought. Throws std::logic_error when an id or alias appears twice within a kind.
Json catalog_json();

}  // namespace locus::engine

// The files of this folder, one for each kind of component.
#pragma once

#include "engine/probe/component.h"

namespace locus::engine::components {
#define LOCUS_COMPONENTS(name) std::vector<Component> name();
#include "engine/probe/components.def"
#undef LOCUS_COMPONENTS
}  // namespace locus::engine::components

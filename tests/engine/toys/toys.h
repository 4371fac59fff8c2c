// Small items that stand beside those of the catalog in tests, to show that a seam fits more than what the engine
// ships. One file and one line of toys.def for each.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine::toys {

#define LOCUS_TOY_BACKBONE(file) BackboneItem file();
#include "tests/engine/toys/toys.def"
#undef LOCUS_TOY_BACKBONE

// Adds them to the registries, once a process. Not thread-safe.
void add_toys();

}  // namespace locus::engine::toys

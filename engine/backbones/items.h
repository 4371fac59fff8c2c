// The functions that backbones.def lists.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine::backbones {

#define LOCUS_BACKBONE(file) BackboneItem file();
#include "engine/backbones/backbones.def"
#undef LOCUS_BACKBONE

}  // namespace locus::engine::backbones

// The files of inits/, one for each line of inits.def.
#pragma once

#include "engine/weights/init.h"

namespace locus::engine::inits {
#define LOCUS_INIT(name) InitItem name();
#include "engine/weights/inits.def"
#undef LOCUS_INIT
}  // namespace locus::engine::inits

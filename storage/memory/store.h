// The store in memory: for tests and simulation. Keeps the whole port's promises but durability.
#pragma once

#include <memory>

#include "core/ports/store.h"

namespace locus {

std::unique_ptr<Store> make_memory_store();

}  // namespace locus

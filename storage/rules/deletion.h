// What a deletion takes with it: one rule for the dry run and the deed.
#pragma once

#include "core/ports/store.h"
#include "storage/rules/rows.h"

namespace locus {

// Reads only. A stage goes when no other experiment links it and nothing that stays takes an input from it.
Deletion plan_deletion(Rows& rows, ExperimentId id);

}  // namespace locus

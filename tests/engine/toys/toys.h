// Small items that stand beside those of the catalog in tests, to show that a seam fits more than what the engine
// ships. One file and one line of toys.def for each.
#pragma once

namespace locus::engine::toys {

// Adds them to the registries, once a process. Not thread-safe.
void add_toys();

}  // namespace locus::engine::toys

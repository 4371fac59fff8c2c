// No adapter: every weight learns, unless the recipe says otherwise.
#include "engine/adapters/adapter.h"

namespace locus::engine::adapters {

AdapterItem none() { return {Item("adapter", "none", 1, "No adapter: the weights themselves learn"), nullptr}; }

}  // namespace locus::engine::adapters

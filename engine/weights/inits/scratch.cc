// `init: scratch`: the random weights that the model made for itself.
#include "engine/weights/inits.h"

namespace locus::engine::inits {

InitItem scratch() {
  return {Item("init", "scratch", 1, "The random weights of the backbone, drawn from the trial's seed"),
          [](Module&, const InitContext&, const Options&) { return std::vector<std::string>(); }};
}

}  // namespace locus::engine::inits

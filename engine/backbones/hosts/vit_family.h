// What backbone vit is beside its network: its catalog entry, the published sizes, and how parameters start.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine::backbones {

// How the parameters of one family start. Always alike are norms, 1 and 0, and the embedding of patches, PyTorch's default
// for convolutions.
struct VitStart {
  const char* name;  // of option init
  bool uniform;      // linear layers by PyTorch's default, uniform within one over the root of the fan-in, biases too;
                     // else weights are truncated normal, cut at -2 and 2, and biases 0
  bool damped;       // maps that end a branch of block l, counted from 0, are divided by the root of 2 (l + 1)
  bool cut;          // the normal of class token and registers is cut at -2 and 2
  double token_std;  // and has this deviation
  const char* source;  // where it is published
};
const std::vector<VitStart>& vit_starts();
// Throws std::invalid_argument on a name that none has.
const VitStart& vit_start(std::string_view name);

void add_vit_sizes(Item& item);  // every published size, a preset
// The priors of the published networks, as the fact "own_priors": lists by size, each as a specification writes priors.
Json vit_own_priors();
// The whole catalog entry.
Item vit_item();

}  // namespace locus::engine::backbones

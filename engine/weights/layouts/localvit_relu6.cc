// LocalViT without a gate of channels.
//
// Source: Li et al. 2021, arXiv:2104.05707; ofsoundof/LocalViT, models/localvit.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout localvit_relu6() {
  return {.item = Item("layout", "localvit-relu6", 1, "LocalViT without a gate of channels"),
          .marks = {{"blocks.0.conv.conv.7.running_mean", "patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = localvit_rules(false),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

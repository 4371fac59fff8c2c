// DeiT-III: LayerScale as gamma_1, gamma_2; the position table has no row for the class token.
//
// Source: Touvron et al. 2022, arXiv:2204.07118; facebookresearch/deit, models_v2.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout deit_iii() {
  return {.item = Item("layout", "deit-iii", 1, "DeiT-III: LayerScale, no position for the class token"),
          .marks = {{"pos_embed", "blocks.0.gamma_1", "patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = with({{"blocks.{i}.gamma_1", "blocks.{i}.scale1"}, {"blocks.{i}.gamma_2", "blocks.{i}.scale2"}},
                        vit_rules()),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

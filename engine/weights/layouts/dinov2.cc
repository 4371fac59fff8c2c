// DINOv2, with or without registers: LayerScale as ls1, ls2. Registers join after the positions were added, whose table
// covers class token and patches (learned-absolute with rows: with-class).
//
// Source: Oquab et al. 2023, arXiv:2304.07193; Darcet et al. 2023, arXiv:2309.16588; facebookresearch/dinov2.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout dinov2() {
  return {.item = Item("layout", "dinov2", 1, "DINOv2, with or without registers"),
          .marks = {{"mask_token", "pos_embed", "blocks.0.ls1.gamma"}, {"register_tokens", "pos_embed"}},
          .strip = wrappers(),
          .rules = with(
              with({{"register_tokens", "registers", Step::kRows}, {"mask_token", "mask_token"}}, gate_rules("packed")),
              vit_rules()),
          .resize = "dino",
          .resize_with_registers = "timm"};
}

}  // namespace locus::engine::layouts

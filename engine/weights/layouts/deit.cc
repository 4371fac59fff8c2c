// DeiT, with or without distillation. The distillation token is a register here: tokens are [class, distillation,
// patches] in both, and the position table has a row for each (learned-absolute with rows: with-prefix).
//
// Source: Touvron et al. 2021, arXiv:2012.12877; facebookresearch/deit, models.py, main.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout deit() {
  return {.item = Item("layout", "deit", 1, "DeiT; a distillation token becomes a register token"),
          .marks = {{"dist_token", "patch_embed.proj.weight"}, {"model.cls_token", "model.patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = with({{"dist_token", "registers", Step::kRows}}, vit_rules()),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

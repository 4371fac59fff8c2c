// DINO: the backbone alone, or a whole training checkpoint, of which the teacher is taken.
//
// Source: Caron et al. 2021, arXiv:2104.14294; facebookresearch/dino, vision_transformer.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout dino() {
  return {.item = Item("layout", "dino", 1, "DINO: a backbone, or the teacher of a training checkpoint"),
          .marks = {{"student.**", "teacher.**"}},
          .strip = wrappers(),
          .rules = with({{"head.mlp.**", "DINO's projection, of no use after pre-training", Step::kUnused},
                         {"head.last_layer.**", "DINO's projection, of no use after pre-training", Step::kUnused}},
                        vit_rules()),
          .resize = "dino",
          .resize_with_registers = "dino"};
}

}  // namespace locus::engine::layouts

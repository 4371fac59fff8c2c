// Masked autoencoders: the encoder; the decoder is left.
//
// Source: He et al. 2021, arXiv:2111.06377; facebookresearch/mae, models_mae.py, util/pos_embed.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout mae() {
  const auto decoder = [](const char* from) {
    return LayoutRule{from, "of the decoder, of no use after pre-training", Step::kUnused};
  };
  return {.item = Item("layout", "mae", 1, "Masked autoencoders, the encoder"),
          .marks = {{"decoder_pos_embed", "patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = with({decoder("decoder_embed.**"), decoder("decoder_blocks.**"), decoder("decoder_norm.**"),
                         decoder("decoder_pred.**"), decoder("decoder_pos_embed"), decoder("mask_token")},
                        vit_rules()),
          .resize = "deit",
          .resize_with_registers = "deit",
          .writes = false};
}

}  // namespace locus::engine::layouts

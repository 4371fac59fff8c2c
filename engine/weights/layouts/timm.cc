// timm's Vision Transformers, in safetensors as Hugging Face serves them: LayerScale as ls1, ls2; registers as reg_token,
// then with a position table of patches alone and the class token's row folded into it.
//
// Source: timm 1.0, vision_transformer.py, layers/pos_embed.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout timm() {
  return {.item = Item("layout", "timm", 1, "timm's vision_transformer"),
          .marks = {{"cls_token", "patch_embed.proj.weight"}, {"pos_embed", "patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = with(gate_rules(), vit_rules()),
          .resize = "timm",
          .resize_with_registers = "timm"};
}

}  // namespace locus::engine::layouts

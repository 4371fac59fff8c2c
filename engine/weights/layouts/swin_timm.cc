// timm's Swin Transformers of both versions: the merging of patches stands at the beginning of a stage.
//
// Source: timm 1.0, swin_transformer.py, swin_transformer_v2.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout swin_timm() {
  return {.item = Item("layout", "swin-timm", 1, "timm's swin_transformer and swin_transformer_v2"),
          .marks = {{"layers.0.blocks.0.attn.qkv.weight", "layers.1.downsample.reduction.weight"}},
          .strip = wrappers(),
          .rules = with({{"layers.{s}.downsample.norm.{p}", "stages.{s}.entry.norm.{p}"},
                         {"layers.{s}.downsample.reduction.weight", "stages.{s}.entry.map.weight"},
                         {"head.fc.{p}", "head.{p}"}},
                        swin_rules({})),
          .resize = "timm",
          .resize_with_registers = "timm"};
}

}  // namespace locus::engine::layouts

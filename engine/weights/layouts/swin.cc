// Swin Transformers of both versions by their own names: the merging of patches stands at the end of a stage. timm up to
// 0.8 has the same.
//
// Source: Liu et al. 2021, arXiv:2103.14030; Liu et al. 2022, arXiv:2111.09883; microsoft/Swin-Transformer, models.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout swin() {
  return {.item = Item("layout", "swin", 1, "Swin Transformer, both versions, its own names"),
          .marks = {{"layers.0.blocks.0.attn.qkv.weight", "layers.0.downsample.reduction.weight"}},
          .strip = wrappers(),
          .rules = with({{"absolute_pos_embed", "position", Step::kRows},
                         {"layers.{s}.downsample.norm.{p}", "stages.{s+1}.entry.norm.{p}"},
                         {"layers.{s}.downsample.reduction.weight", "stages.{s+1}.entry.map.weight"},
                         {"head.{p}", "head.{p}"}},
                        swin_rules({})),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

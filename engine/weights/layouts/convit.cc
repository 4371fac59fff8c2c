// ConViT: the first blocks have gated positional attention, which is prior gpsa with `prefix: late` here, and maps to values of
// their own.
//
// Source: d'Ascoli et al. 2021, arXiv:2103.10697; facebookresearch/convit, convit.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout convit() {
  const std::string file = "blocks.{i}.attn.", qkv = "blocks.{i}.attention.qkv.weight",
                    prior = "priors.gpsa.layers.{i}.", gate = prior + "gate";
  return {.item = Item("layout", "convit", 1, "ConViT"),
          .marks = {{"blocks.0.attn.gating_param", "patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = with({{file + "qk.weight", qkv, Step::kQueryKey, "", false, gate},
                         {file + "v.weight", qkv, Step::kValue, "", false, gate},
                         {file + "pos_proj.{p}", prior + "{p}"},
                         {file + "gating_param", gate},
                         {file + "rel_indices", "follows from the grid", Step::kUnused}},
                        vit_rules()),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

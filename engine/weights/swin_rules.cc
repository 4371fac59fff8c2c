// What the layouts of Swin Transformers share.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

std::vector<LayoutRule> swin_rules(const SwinNames& names) {
  const std::string to = "stages.{s}.blocks.{i}.", attention = names.block + names.attention;
  const std::string of_bias = "priors.relative-bias.stages.{s}.layers.{l}.",
                    of_mlp = "priors.log-cpb.stages.{s}.layers.{l}.";
  return {{"patch_embed." + names.embed + ".{p}", "embed.{p}"},
          {"patch_embed.norm.{p}", "embed_norm.{p}"},
          {"norm.{p}", "norm.{p}"},
          {names.block + "norm1.{p}", to + "norm1.{p}"},
          {attention + "qkv.{p}", to + "attention.qkv.{p}"},
          {attention + "q_bias", to + "attention.q_bias"},
          {attention + "v_bias", to + "attention.v_bias"},
          {attention + "proj.{p}", to + "attention.out.{p}"},
          {attention + "relative_position_bias_table", of_bias + "table"},
          {attention + "logit_scale", of_mlp + "logit_scale", Step::kFactors},
          {attention + "cpb_mlp.0.weight", of_mlp + "mlp.in_weight"},
          {attention + "cpb_mlp.0.bias", of_mlp + "mlp.in_bias"},
          {attention + "cpb_mlp.2.weight", of_mlp + "mlp.out_weight"},
          {names.block + "norm2.{p}", to + "norm2.{p}"},
          {names.block + names.in + ".{p}", to + "mlp.in.{p}"},
          {names.block + names.out + ".{p}", to + "mlp.out.{p}"},
          {names.block + "attn_mask", kFromWindows, Step::kUnused},
          {attention + "relative_position_index", kFromWindows, Step::kUnused},
          {attention + "relative_coords_table", kFromWindows, Step::kUnused},
          {attention + "k_bias", "always 0", Step::kUnused}};
}

}  // namespace locus::engine::layouts

// transformers' Swin Transformers of both versions: queries, keys and values are maps of their own, of which the keys' has
// no bias in version 2.
//
// Source: transformers 4.56, models/{swin,swinv2}.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {
namespace {

// Everything below `start`, "swin." or nothing, but what the versions have different.
std::vector<LayoutRule> common(const std::string& start) {
  const std::string layer = start + "encoder.layers.{s}.", from = layer + "blocks.{i}.", to = "stages.{s}.blocks.{i}.";
  return {{start + "embeddings.patch_embeddings.projection.{p}", "embed.{p}"},
          {start + "embeddings.norm.{p}", "embed_norm.{p}"},
          {start + "embeddings.position_embeddings", "position", Step::kRows},
          {start + "embeddings.mask_token", "stands for hidden patches in pre-training", Step::kUnused},
          {from + "layernorm_before.{p}", to + "norm1.{p}"},
          {from + "attention.output.dense.{p}", to + "attention.out.{p}"},
          {from + "layernorm_after.{p}", to + "norm2.{p}"},
          {from + "intermediate.dense.{p}", to + "mlp.in.{p}"},
          {from + "output.dense.{p}", to + "mlp.out.{p}"},
          {from + "attention.self.relative_position_index", kFromWindows, Step::kUnused},
          {from + "attention.self.relative_coords_table", kFromWindows, Step::kUnused},
          {layer + "downsample.norm.{p}", "stages.{s+1}.entry.norm.{p}"},
          {layer + "downsample.reduction.weight", "stages.{s+1}.entry.map.weight"},
          {start + "layernorm.{p}", "norm.{p}"}};
}

std::vector<LayoutRule> first_version(const std::string& start) {
  const std::string from = start + "encoder.layers.{s}.blocks.{i}.attention.self.",
                    to = "stages.{s}.blocks.{i}.attention.qkv.{p}";
  return with(common(start),
              {{from + "query.{p}", to, Step::kQuery},
               {from + "key.{p}", to, Step::kKey},
               {from + "value.{p}", to, Step::kValue},
               {from + "relative_position_bias_table", "priors.relative-bias.stages.{s}.layers.{l}.table"}});
}

std::vector<LayoutRule> second_version(const std::string& start) {
  const std::string from = start + "encoder.layers.{s}.blocks.{i}.attention.self.",
                    mlp = from + "continuous_position_bias_mlp.", to = "stages.{s}.blocks.{i}.attention.",
                    prior = "priors.log-cpb.stages.{s}.layers.{l}.";
  return with(common(start), {{from + "query.weight", to + "qkv.weight", Step::kQuery},
                              {from + "key.weight", to + "qkv.weight", Step::kKey},
                              {from + "value.weight", to + "qkv.weight", Step::kValue},
                              {from + "query.bias", to + "q_bias"},
                              {from + "value.bias", to + "v_bias"},
                              {from + "logit_scale", prior + "logit_scale", Step::kFactors},
                              {mlp + "0.weight", prior + "mlp.in_weight"},
                              {mlp + "0.bias", prior + "mlp.in_bias"},
                              {mlp + "2.weight", prior + "mlp.out_weight"}});
}

// Models without keys' biases are written as the second version, others as the first, both as they classify.
std::vector<LayoutRule> swin_huggingface_rules() {
  std::vector<LayoutRule> second = second_version("swinv2."), bare = first_version("");
  for (LayoutRule& rule : second) rule.beside = "stages.0.blocks.0.attention.q_bias";
  for (LayoutRule& rule : bare) rule.read_only = true;
  return with(with(with({{"classifier.{p}", "head.{p}"}}, second), first_version("swin.")), bare);
}

}  // namespace

WeightsLayout swin_huggingface() {
  return {.item = Item("layout", "swin-huggingface", 1, "transformers: Swin Transformer, both versions"),
          .marks = {{"swin.encoder.layers.0.blocks.0.layernorm_before.weight"},
                    {"swinv2.encoder.layers.0.blocks.0.layernorm_before.weight"},
                    {"encoder.layers.0.blocks.0.layernorm_before.weight"}},
          .strip = {"module.", "_orig_mod."},
          .rules = swin_huggingface_rules(),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

// Diffusion Transformers under the names of diffusers. Each block holds a copy of the embeddings of time and label, and
// follows its own: copies that differ are another network. Its code divides the exponents of the frequencies of time by
// 127 where the published one, and ours, divides by 128, so that the same weights say something else there.
//
// Source: diffusers 0.30, models/transformers/dit_transformer_2d.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout dit_diffusers() {
  const std::string block = "transformer_blocks.{i}.", embeddings = block + "norm1.emb.";
  return {.item = Item("layout", "dit-diffusers", 1, "diffusers: Diffusion Transformers"),
          .marks = {{"pos_embed.proj.weight", "transformer_blocks.0.norm1.linear.weight"}},
          .strip = {"module.", "_orig_mod."},
          .rules = {{"pos_embed.proj.{p}", "embed.{p}"},
                    {"pos_embed.pos_embed", "the frozen table of prior sincos-2d", Step::kUnused},
                    {embeddings + "timestep_embedder.linear_1.{p}", "time.in.{p}"},
                    {embeddings + "timestep_embedder.linear_2.{p}", "time.out.{p}"},
                    {embeddings + "class_embedder.embedding_table.weight", "label.table"},
                    {block + "norm1.linear.{p}", "blocks.{i}.modulation.{p}"},
                    {block + "attn1.to_q.{p}", "blocks.{i}.attention.qkv.{p}", Step::kQuery},
                    {block + "attn1.to_k.{p}", "blocks.{i}.attention.qkv.{p}", Step::kKey},
                    {block + "attn1.to_v.{p}", "blocks.{i}.attention.qkv.{p}", Step::kValue},
                    {block + "attn1.to_out.0.{p}", "blocks.{i}.attention.out.{p}"},
                    {block + "ff.net.0.proj.{p}", "blocks.{i}.mlp.in.{p}"},
                    {block + "ff.net.2.{p}", "blocks.{i}.mlp.out.{p}"},
                    {"proj_out_1.{p}", "final.modulation.{p}"},
                    {"proj_out_2.{p}", "final.map.{p}"}},
          .resize = "deit",
          .resize_with_registers = "deit",
          .writes = false,  // denoiser_export.h does
          .copies = true};
}

}  // namespace locus::engine::layouts

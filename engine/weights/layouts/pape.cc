// PaPE's image classifier: a norm before the first block, and the numbers of its position encoding, which is prior pape with
// `sign: code` here.
//
// Source: DTU-PAS/parabolic-position-encoding, pape/nn: image_classifier.py, encoder.py, positions.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

WeightsLayout pape() {
  const std::string file = "encoder.layers.{i}.", ours = "blocks.{i}.", prior = "priors.pape.layers.{i}.";
  const std::string encoder = file + "attention.position_encoder.";
  return {.item = Item("layout", "pape", 1, "PaPE's image classifier"),
          .marks = {{"cls", "embedding.weight", "encoder.norm_pre.weight"}},
          .strip = wrappers(),
          .rules = {{"cls", "class_token", Step::kRows},
                    {"embedding.{p}", "embed.{p}"},
                    {"encoder.norm_pre.{p}", "norm_pre.{p}"},
                    {file + "norm1.{p}", ours + "norm1.{p}"},
                    {file + "norm2.{p}", ours + "norm2.{p}"},
                    {file + "attention.qkv_proj.{p}", ours + "attention.qkv.{p}"},
                    {file + "attention.out_proj.{p}", ours + "attention.out.{p}"},
                    {encoder + "ab.weight", prior + "a", Step::kHalves, prior + "b"},
                    {encoder + "position.weight", prior + "position"},
                    {file + "ffn.fc1.{p}", ours + "mlp.in.{p}"},
                    {file + "ffn.fc2.{p}", ours + "mlp.out.{p}"},
                    {"encoder.norm_post.{p}", "norm.{p}"},
                    {"classifier.{p}", "head.{p}"}},
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

// Hugging Face's transformers: ViT and DeiT, DINOv2 with or without registers, DINOv3, by the names on disk. Queries, keys
// and values are maps of their own. ViT and DeiT have an epsilon of 1e-12 in their norms.
//
// Source: transformers 4.56, models/{vit,deit,dinov2,dinov2_with_registers,dinov3_vit}.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {
namespace {

// A map at `place` of every block to `to` of ours, weight and bias.
LayoutRule of_block(const std::string& place, const std::string& to, Step step = Step::kCopy) {
  return {place, "blocks.{i}." + to, step};
}

std::vector<LayoutRule> embeddings() {
  return {{"embeddings.cls_token", "class_token", Step::kRows},
          {"embeddings.distillation_token", "registers", Step::kRows},
          {"embeddings.register_tokens", "registers", Step::kRows},
          {"embeddings.position_embeddings", "position", Step::kRows},
          {"embeddings.patch_embeddings.projection.{p}", "embed.{p}"},
          {"embeddings.patch_embeddings.proj.{p}", "embed.{p}"},
          {"embeddings.patch_embeddings.{p}", "embed.{p}"},
          {"embeddings.mask_token", "mask_token", Step::kRows},
          {"rope_embeddings.periods", "follows from the settings of rotary positions", Step::kUnused},
          {"layernorm.{p}", "norm.{p}"},
          {"norm.{p}", "norm.{p}"},
          {"classifier.{p}", "head.{p}"},
          {"cls_classifier.{p}", "head.{p}"},
          {"distillation_classifier.{p}", "head_distilled.{p}"},
          {"pooler.**", "a map after the final norm that classification does not use", Step::kUnused}};
}

// ViT, DeiT and DINOv2.
std::vector<LayoutRule> encoder() {
  const std::string at = "encoder.layer.{i}.";
  return {of_block(at + "layernorm_before.{p}", "norm1.{p}"),
          of_block(at + "norm1.{p}", "norm1.{p}"),
          of_block(at + "attention.attention.query.{p}", "attention.qkv.{p}", Step::kQuery),
          of_block(at + "attention.attention.key.{p}", "attention.qkv.{p}", Step::kKey),
          of_block(at + "attention.attention.value.{p}", "attention.qkv.{p}", Step::kValue),
          of_block(at + "attention.output.dense.{p}", "attention.out.{p}"),
          of_block(at + "layer_scale1.lambda1", "scale1"),
          of_block(at + "layernorm_after.{p}", "norm2.{p}"),
          of_block(at + "norm2.{p}", "norm2.{p}"),
          of_block(at + "intermediate.dense.{p}", "mlp.in.{p}"),
          of_block(at + "output.dense.{p}", "mlp.out.{p}"),
          of_block(at + "mlp.fc1.{p}", "mlp.in.{p}"),
          of_block(at + "mlp.fc2.{p}", "mlp.out.{p}"),
          of_block(at + "layer_scale2.lambda1", "scale2"),
          {at + "mlp.weights_in.{p}", "blocks.{i}.mlp.gate.{p}", Step::kHalves, "blocks.{i}.mlp.in.{p}"},
          of_block(at + "mlp.weights_out.{p}", "mlp.out.{p}")};
}

// DINOv3, as published and as first converted.
std::vector<LayoutRule> dinov3_layers() {
  const std::string at = "layer.{i}.";
  std::vector<LayoutRule> out = {of_block(at + "norm1.{p}", "norm1.{p}"), of_block(at + "norm2.{p}", "norm2.{p}")};
  const std::pair<const char*, const char*> names[] = {{"q_proj", "query"}, {"k_proj", "key"}, {"v_proj", "value"}};
  const Step steps[] = {Step::kQuery, Step::kKey, Step::kValue};
  for (std::size_t i = 0; i < 3; ++i) {
    for (const char* name : {names[i].first, names[i].second})
      out.push_back(of_block(at + "attention." + name + ".{p}", "attention.qkv.{p}", steps[i]));
  }
  for (const char* name : {"o_proj", "proj"})
    out.push_back(of_block(at + "attention." + name + ".{p}", "attention.out.{p}"));
  for (const char* name : {"lambda1", "gamma"}) {
    out.push_back(of_block(at + "layer_scale1." + name, "scale1"));
    out.push_back(of_block(at + "layer_scale2." + name, "scale2"));
  }
  for (const char* name : {"gate_proj", "w1"}) out.push_back(of_block(at + "mlp." + name + ".{p}", "mlp.gate.{p}"));
  for (const char* name : {"up_proj", "fc1", "w2"}) out.push_back(of_block(at + "mlp." + name + ".{p}", "mlp.in.{p}"));
  for (const char* name : {"down_proj", "fc2", "w3"})
    out.push_back(of_block(at + "mlp." + name + ".{p}", "mlp.out.{p}"));
  return out;
}

}  // namespace

WeightsLayout huggingface() {
  return {
      .item = Item("layout", "huggingface", 1, "transformers: ViT, DeiT, DINOv2, DINOv3"),
      .marks = {{"embeddings.cls_token"}},
      .strip = {"module.", "_orig_mod.", "vit.", "deit.", "dinov2.", "dinov2_with_registers.", "dinov3_vit.", "model."},
      .rules = with(with(embeddings(), encoder()), dinov3_layers()),
      .resize = "deit",
      .resize_with_registers = "timm",
      .writes = false};
}

}  // namespace locus::engine::layouts

// What the layouts of Vision Transformers share.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

std::vector<LayoutRule> vit_rules() {
  return {{"cls_token", "class_token", Step::kRows},
          {"reg_token", "registers", Step::kRows},
          {"dist_token", "registers", Step::kRows},
          {"pos_embed", "position", Step::kRows},
          {"patch_embed.proj.{p}", "embed.{p}"},
          {"blocks.{i}.norm1.{p}", "blocks.{i}.norm1.{p}"},
          {"blocks.{i}.attn.qkv.{p}", "blocks.{i}.attention.qkv.{p}"},
          {"blocks.{i}.attn.q_bias", "blocks.{i}.attention.q_bias"},
          {"blocks.{i}.attn.v_bias", "blocks.{i}.attention.v_bias"},
          {"blocks.{i}.attn.proj.{p}", "blocks.{i}.attention.out.{p}"},
          {"blocks.{i}.ls1.gamma", "blocks.{i}.scale1"},
          {"blocks.{i}.gamma_1", "blocks.{i}.scale1"},
          {"blocks.{i}.norm2.{p}", "blocks.{i}.norm2.{p}"},
          {"blocks.{i}.mlp.fc1.{p}", "blocks.{i}.mlp.in.{p}"},
          {"blocks.{i}.mlp.fc2.{p}", "blocks.{i}.mlp.out.{p}"},
          {"blocks.{i}.ls2.gamma", "blocks.{i}.scale2"},
          {"blocks.{i}.gamma_2", "blocks.{i}.scale2"},
          {"norm.{p}", "norm.{p}"},
          {"head.{p}", "head.{p}"},
          {"head_dist.{p}", "head_distilled.{p}"},
          {"fc_norm.{p}", "fc_norm.{p}"}};
}

std::vector<LayoutRule> gate_rules(const std::string& written) {
  const std::string mlp = "blocks.{i}.mlp.";
  const std::vector<std::pair<std::string, LayoutRule>> all = {
      {"packed", {mlp + "w12.{p}", mlp + "gate.{p}", Step::kHalves, mlp + "in.{p}"}},
      {"packed", {mlp + "w3.{p}", mlp + "out.{p}", Step::kCopy, "", false, mlp + "gate.{p}"}},
      {"apart", {mlp + "w1.{p}", mlp + "gate.{p}"}},
      {"apart", {mlp + "w2.{p}", mlp + "in.{p}", Step::kCopy, "", false, mlp + "gate.{p}"}},
      {"apart", {mlp + "w3.{p}", mlp + "out.{p}", Step::kCopy, "", false, mlp + "gate.{p}"}},
      {"eva", {mlp + "fc1_g.{p}", mlp + "gate.{p}"}},
      {"eva", {mlp + "fc1_x.{p}", mlp + "in.{p}", Step::kCopy, "", false, mlp + "gate.{p}"}}};
  std::vector<LayoutRule> out;
  for (const auto& [kind, rule] : all) {
    out.push_back(rule);
    out.back().read_only = kind != written;
  }
  return out;
}

std::vector<std::string> wrappers() { return {"module.", "_orig_mod.", "backbone."}; }

std::vector<LayoutRule> with(std::vector<LayoutRule> base, const std::vector<LayoutRule>& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

}  // namespace locus::engine::layouts

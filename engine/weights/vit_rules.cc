// What the layouts of Vision Transformers share.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

std::vector<LayoutRule> vit_rules() {
  return {{"cls_token", "class_token", Step::kRows},
          {"dist_token", "registers", Step::kRows},
          {"reg_token", "registers", Step::kRows},
          {"pos_embed", "position", Step::kRows},
          {"patch_embed.proj.{p}", "embed.{p}"},
          {"blocks.{i}.norm1.{p}", "blocks.{i}.norm1.{p}"},
          {"blocks.{i}.attn.qkv.{p}", "blocks.{i}.attention.qkv.{p}"},
          {"blocks.{i}.attn.q_bias", "blocks.{i}.attention.qkv.bias", Step::kQuery},
          {"blocks.{i}.attn.v_bias", "blocks.{i}.attention.qkv.bias", Step::kValue},
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
          {"head_dist.{p}", "the head of the distillation token: ours reads the class token", Step::kIgnored},
          {"fc_norm.{p}", "a network that normalizes after pooling, which is not the final norm of backbone vit",
           Step::kRefused},
          {"blocks.{i}.mlp.w12.{p}", kGated, Step::kRefused},
          {"blocks.{i}.mlp.w1.{p}", kGated, Step::kRefused},
          {"blocks.{i}.mlp.w2.{p}", kGated, Step::kRefused},
          {"blocks.{i}.mlp.w3.{p}", kGated, Step::kRefused},
          {"blocks.{i}.mlp.fc1_g.{p}", kGated, Step::kRefused},
          {"blocks.{i}.mlp.fc1_x.{p}", kGated, Step::kRefused}};
}

std::vector<std::string> wrappers() { return {"module.", "_orig_mod.", "backbone."}; }

std::vector<LayoutRule> with(std::vector<LayoutRule> base, const std::vector<LayoutRule>& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

}  // namespace locus::engine::layouts

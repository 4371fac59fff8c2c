// RMT by its own names: queries, keys and values are maps of their own, a stage ends with what leads to the next one. The
// convolutions of position are parameters of the priors cpe and lepe. Angles and decays follow from the settings.
//
// Source: Fan et al. 2024, arXiv:2309.11523; qhfan/RMT, classification.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {
namespace {

constexpr const char* kCounter = "counts batches, which the running statistics here do not need";

// A convolution and its batch norm.
void add_normed(std::vector<LayoutRule>& rules, const std::string& convolution, const std::string& norm,
                const std::string& to) {
  rules.push_back({convolution + ".{p}", to + ".conv.{p}"});
  rules.push_back({norm + ".{p}", to + ".norm.{p}"});
  for (const char* name : {".running_mean", ".running_var"}) rules.push_back({norm + name, to + ".norm" + name});
  rules.push_back({norm + ".num_batches_tracked", kCounter, Step::kUnused});
}

std::vector<LayoutRule> of_blocks() {
  const std::string from = "layers.{s}.blocks.{i}.", to = "stages.{s}.blocks.{i}.",
                    of_stage = ".stages.{s}.layers.{l}.convolution.{p}";
  return {{from + "pos.conv.{p}", "priors.cpe" + of_stage},
          {from + "retention_layer_norm.{p}", to + "norm1.{p}"},
          {from + "retention.q_proj.{p}", to + "attention.qkv.{p}", Step::kQuery},
          {from + "retention.k_proj.{p}", to + "attention.qkv.{p}", Step::kKey},
          {from + "retention.v_proj.{p}", to + "attention.qkv.{p}", Step::kValue},
          {from + "retention.lepe.conv.{p}", "priors.lepe" + of_stage},
          {from + "retention.out_proj.{p}", to + "attention.out.{p}"},
          {from + "gamma_1", to + "scale1", Step::kTrailing},
          {from + "final_layer_norm.{p}", to + "norm2.{p}"},
          {from + "ffn.fc1.{p}", to + "mlp.in.{p}"},
          {from + "ffn.dwconv.conv.{p}", to + "mlp.conv.{p}"},
          {from + "ffn.fc2.{p}", to + "mlp.out.{p}"},
          {from + "gamma_2", to + "scale2", Step::kTrailing},
          {"layers.{s}.Relpos.**", "follows from the settings of rotation and decay", Step::kUnused}};
}

}  // namespace

WeightsLayout rmt() {
  std::vector<LayoutRule> rules = of_blocks();
  for (int i = 0; i < 4; ++i) {  // each convolution of the stem stands before its norm and a GELU
    const std::string start = "patch_embed.proj.";
    add_normed(rules, start + std::to_string(3 * i), start + std::to_string(3 * i + 1), "stem." + std::to_string(i));
  }
  add_normed(rules, "layers.{s}.downsample.reduction", "layers.{s}.downsample.norm", "stages.{s+1}.entry");
  rules.push_back({"proj.{p}", "pool.map.{p}"});
  rules.push_back({"norm.{p}", "pool.norm.{p}"});
  for (const char* name : {"running_mean", "running_var"})
    rules.push_back({std::string("norm.") + name, std::string("pool.norm.") + name});
  rules.push_back({"norm.num_batches_tracked", kCounter, Step::kUnused});
  rules.push_back({"head.{p}", "head.{p}"});
  return {.item = Item("layout", "rmt", 1, "RMT, its own names"),
          .marks = {{"patch_embed.proj.0.weight", "layers.0.blocks.0.retention.q_proj.weight"}},
          .strip = wrappers(),
          .rules = std::move(rules),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

// LocalViT with a gate of channels: its MLPs are prior local-ffn with `mode: original` here.
//
// Source: Li et al. 2021, arXiv:2104.05707; ofsoundof/LocalViT, models/localvit.py.
#include "engine/weights/layouts.h"

namespace locus::engine::layouts {

std::vector<LayoutRule> localvit_rules(bool gated) {
  const std::string file = "blocks.{i}.conv.conv.", prior = "priors.local-ffn.layers.{i}.";
  std::vector<LayoutRule> out;
  const auto norm = [&](const std::string& place, const std::string& to) {
    for (const char* end : {"weight", "bias", "running_mean", "running_var"})
      out.push_back({file + place + "." + end, prior + to + "." + end});
    out.push_back(
        {file + place + ".num_batches_tracked", "counts what the running statistics do not need", Step::kUnused});
  };
  out.push_back({file + "0.weight", prior + "in_weight", Step::kMap});
  norm("1", "norm_in");
  out.push_back({file + "3.weight", prior + "convolution.weight"});
  norm("4", "norm_convolution");
  if (gated) {
    out.push_back({file + "6.conv.weight", prior + "gate.kernel"});
    out.push_back({file + "6.fc.0.weight", prior + "gate.in_weight"});
    out.push_back({file + "6.fc.0.bias", prior + "gate.in_bias"});
    out.push_back({file + "6.fc.2.weight", prior + "gate.out_weight"});
    out.push_back({file + "6.fc.2.bias", prior + "gate.out_bias"});
  }
  out.push_back({file + (gated ? "7" : "6") + ".weight", prior + "out_weight", Step::kMap});
  norm(gated ? "8" : "7", "norm_out");
  return with(std::move(out), vit_rules());
}

WeightsLayout localvit() {
  return {.item = Item("layout", "localvit", 1, "LocalViT with a gate of channels (squeeze-and-excitation, ECA)"),
          .marks = {{"blocks.0.conv.conv.8.running_mean", "patch_embed.proj.weight"}},
          .strip = wrappers(),
          .rules = localvit_rules(true),
          .resize = "deit",
          .resize_with_registers = "deit"};
}

}  // namespace locus::engine::layouts

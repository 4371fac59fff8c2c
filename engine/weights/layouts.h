// The files of layouts/, one for each line of layouts.def, and what several of them share.
#pragma once

#include "engine/weights/layout.h"

namespace locus::engine::layouts {

#define LOCUS_LAYOUT(name) WeightsLayout name();
#include "engine/weights/layouts.def"
#undef LOCUS_LAYOUT

// timm's names, which DeiT, DINO, DINOv2 and MAE have in common, distilled models included.
std::vector<LayoutRule> vit_rules();
// Names of gated MLPs. `written`: which of them a model gets: "packed" (DINOv2: w12, w3), "apart" (DINOv3: w1, w2, w3), "eva"
// (timm's EVA: fc1_g, fc1_x), or none.
std::vector<LayoutRule> gate_rules(const std::string& written = "");
// LocalViT's MLPs, which are prior local-ffn; `gated`: the channels have a gate, which moves what follows it.
std::vector<LayoutRule> localvit_rules(bool gated);
// Beginnings that wrappers of training code add: DistributedDataParallel, torch.compile, DINO's multi-crop wrapper.
std::vector<std::string> wrappers();
// A table's rules after those of `base`.
std::vector<LayoutRule> with(std::vector<LayoutRule> base, const std::vector<LayoutRule>& more);

// How layouts of Swin Transformers name what lies in a block: the block, its attention, the patches' map, the maps of the
// MLP.
struct SwinNames {
  std::string block = "layers.{s}.blocks.{i}.", attention = "attn.", embed = "proj", in = "mlp.fc1", out = "mlp.fc2";
};
// Rules of all that is not merging, head or positions of the stem, for both versions.
std::vector<LayoutRule> swin_rules(const SwinNames& names);

inline constexpr const char* kFromWindows = "follows from the windows";

}  // namespace locus::engine::layouts

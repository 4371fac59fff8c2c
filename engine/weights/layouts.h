// The files of layouts/, one for each line of layouts.def, and what several of them share.
#pragma once

#include "engine/weights/layout.h"

namespace locus::engine::layouts {

#define LOCUS_LAYOUT(name) WeightsLayout name();
#include "engine/weights/layouts.def"
#undef LOCUS_LAYOUT

// timm's names, which DeiT, DINO, DINOv2 and MAE have in common, distilled models included.
std::vector<LayoutRule> vit_rules();
// Beginnings that wrappers of training code add: DistributedDataParallel, torch.compile, DINO's multi-crop wrapper.
std::vector<std::string> wrappers();
// A table's rules after those of `base`.
std::vector<LayoutRule> with(std::vector<LayoutRule> base, const std::vector<LayoutRule>& more);

inline constexpr const char* kGated = "a network with gated MLPs (SwiGLU), which backbone vit has not";

}  // namespace locus::engine::layouts

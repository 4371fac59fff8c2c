// Which parameters decay, and at what share of the rate each learns.
#pragma once

#include "engine/tasks/task.h"
#include "engine/train/optimizer.h"

namespace locus::engine {

// Which parameters weight decay spares:
//   task      what the task spares: vectors, biases, and what a prior says of its own
//   timm      that, and class and register tokens, which models of timm and DeiT list
//   matrices  vectors and biases, whatever the name (vtab1k-pytorch, DINO), and what a prior has in layers and spares
//   none      nothing (PaPE)
//   mmseg     class and register tokens, and what a prior says of its own; norms and biases decay, against the comment of
//             mmsegmentation's configurations, whose key "norm" matches none of its names
//   names     biases, and what has "norm" in its name in any case (Active Spatial Guidance)
enum class DecayRule { kTask, kTimm, kMatrices, kNone, kNames, kMmseg };
// By the name above. Throws std::invalid_argument on another.
DecayRule decay_rule_of(std::string_view name);

// Whether weight decay pulls on a parameter of `axes` axes. `own`: what its task says. Names are full, as in
// checkpoints, or those of timm: "backbone.blocks.0.norm1.weight", "pos_embed".
bool decays(DecayRule rule, std::string_view name, std::int64_t axes, Decay own);

// The share of the rate that each layer of a network of L blocks learns at, by its depth (Clark et al. 2020; BEiT's rule):
// embeddings decay^(L+1), block i decay^(L-i), head 1. What a prior has in a layer learns as that block does. The final
// norm learns as the head does, or, by timm's rule, as the last block, decay^1.
class LayerDecay {
 public:
  // `names` of all parameters, in any order: blocks count by the numbers in their names, so several stages are one row.
  LayerDecay(const std::vector<std::string>& names, double decay, bool norm_with_last_block);

  std::int64_t layers() const { return static_cast<std::int64_t>(blocks_.size()) + 2; }  // embeddings to head
  std::int64_t layer(std::string_view name) const;  // 0 embeddings, 1 + i block i, layers() - 1 head
  double scale(std::string_view name) const;

 private:
  std::vector<std::string> blocks_;  // "backbone.blocks.0", in order
  double decay_;
  bool norm_with_last_block_;
};

struct GroupRules {
  double weight_decay = 0;
  DecayRule decay = DecayRule::kTask;
  double layer_decay = 1;  // 1: all at the full rate
  bool norm_with_last_block = false;
};

// What learns of the task, in groups, those that decay before the others and each by layer. Each in the task's order. What
// only training needs never decays where its owner says so, as the head of guidance.
std::vector<ParameterGroup> parameter_groups(const Task& task, const GroupRules& rules);

}  // namespace locus::engine

// The functions that priors.def lists.
#pragma once

#include "engine/priors/prior.h"

namespace locus::engine::priors {

#define LOCUS_PRIOR(file) PriorItem file();
#include "engine/priors/priors.def"
#undef LOCUS_PRIOR

// A catalog entry with the fields every prior has. Hooks as in to_string(Hook); `ranks`: the grid ranks it
// supports.
Item prior_entry(std::string_view id, int revision, std::string_view summary, std::string_view paper,
                 std::string_view formula, std::vector<std::string> hooks, std::vector<int> ranks);

// What a reader weighs a prior by. Letters as in prior.h, and N = rows x columns.
struct Weight {
  std::string_view parameters;  // that it adds, in words
  // The same as formulas by name (docs/formats/catalog.md): "parameters" that the exported model keeps, and
  // where they are not 0 "training_only" ones, those "replaced" of the model, and "prefix_from", the block
  // before which the prefix tokens join. Others are names for these to use.
  std::map<std::string, std::string> counts;
  std::int64_t base = 0;           // that its defaults add to ViT-B/16 at 224 x 224
  std::vector<std::string> paths;  // execution paths that some setting of it can take
  std::string_view cost;           // of a training step, in words
};
Item& weigh(Item& item, const Weight& weight);

// Every prior but `none` provides this tag, and `none` excludes it: nothing stands beside nothing.
inline constexpr std::string_view kSpatialPrior = "spatial-prior";

// Provided, by prior_entry(), where a hook of the softmax does not support grids of rank 1: it cannot stand
// beside attention along the axes.
inline constexpr std::string_view kWholeGrid = "whole-grid";

Item& needs_whole_grid(Item& item);  // the same tag where parameters belong to the rank of the grid

// States as data that it reads coordinates, so that tokens may be points of any place instead of patches of a grid.
Item& takes_points(Item& item);

// State as data what is defined on rectangles alone, or on grids alone: `option` at one of `values` needs tokens of two
// axes, or of a grid.
Item& on_rectangles_when(Item& item, std::string_view option, std::vector<std::string> values, std::string_view help);
Item& on_grids_when(Item& item, std::string_view option, std::vector<std::string> values, std::string_view help);

// What only one prior of a model may do: the entry provides the tag and excludes it.
Item& alone(Item& item, std::string_view tag);
// States as data that attention runs along the axes while `option` is `value`: no prefix tokens, no windows of
// the backbone, and nothing that needs the whole grid. The backbone refuses the same. Adds the formula "axial" by which
// planning knows; call after weigh().
Item& along_axes_when(Item& item, std::string_view option, std::string_view value);

// States as data that the hook "probabilities" does not keep 0 at 0, always or under the condition `when`
// (docs/formats/catalog.md): then no pair may be hidden.
Item& adds_probability(Item& item, const Json& when = nullptr);

// States as data that a layer may make tensors of all pairs of tokens, no sample's own, while `option` is `value`, and why
// (facts.all_pairs, docs/formats/catalog.md). Call after weigh().
Item& makes_all_pairs(Item& item, std::string_view option, std::string_view value, std::string_view reason);

inline constexpr std::string_view kFeedForward = "feed-forward";    // replaces the residual MLP
inline constexpr std::string_view kSpatialDecay = "spatial-decay";  // sets a decay and the attention pattern

}  // namespace locus::engine::priors

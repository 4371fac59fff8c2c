// The functions that priors.def lists.
#pragma once

#include "engine/priors/prior.h"

namespace locus::priors {

#define LOCUS_PRIOR(file) PriorItem file();
#include "engine/priors/priors.def"
#undef LOCUS_PRIOR

// A catalog entry with the fields every prior has. Hooks as in to_string(Hook); `ranks`: the grid ranks it
// supports.
Item prior_entry(std::string_view id, int revision, std::string_view summary, std::string_view paper,
                 std::string_view formula, std::vector<std::string> hooks, std::vector<int> ranks);

// Every prior but `none` provides this tag, and `none` excludes it: nothing stands beside nothing.
inline constexpr std::string_view kSpatialPrior = "spatial-prior";

}  // namespace locus::priors

// What the catalog asks of the place where a prior stands.
#pragma once

#include "engine/priors/prior.h"

namespace locus::engine {

// A prior as it is set in one stage.
struct SetPrior {
  const PriorItem* item;
  Json options;  // complete
};

// Throws std::invalid_argument, naming the stage where there are several, when the stage does not have what the
// prior requires.
void check_requirements(const SetPrior& prior, const StageInfo& stage);
// Throws likewise when one excludes the other, or both are the same.
void check_pair(const SetPrior& first, const SetPrior& second, const StageInfo& stage);

// "stage 1: " in a network of several stages, else nothing.
std::string in_stage(const StageInfo& stage);

}  // namespace locus::engine

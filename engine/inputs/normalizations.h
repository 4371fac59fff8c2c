// Means and deviations by name, for inputs that let a specification choose.
#pragma once

#include "engine/inputs/input.h"

namespace locus::engine {

// Option normalization: the dataset's own, ImageNet's, half or none; and the rule that ImageNet's are of three channels.
Option normalization_option();
Json normalization_rule();
// Throws std::invalid_argument where ImageNet's do not fit the dataset's channels.
Normalization normalization_named(const std::string& name, const InputContext& context);

}  // namespace locus::engine

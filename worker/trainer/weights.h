// `locus-trainer weights`: looks into files of weights, and writes models under other programs' names.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kWeightsUsage =
    "locus-trainer weights inspect --file FILE [--layout LAYOUT] [--below PREFIX] [--models FILE.json] [--json]\n"
    "       locus-trainer weights export --file FILE --out FILE.safetensors [--channels N] [--drop-priors] [--json]\n"
    "  digest, layout and tensors of a file of weights, and whether it fits models, [{\"label\", \"configuration\"}];\n"
    "  export writes a model of Locus under timm's names\n";

// Returns the exit status: 0; 1 where a file is not what it should be or fits a model not; 2 on wrong arguments.
int run_weights(std::span<const std::string> arguments);

}  // namespace locus

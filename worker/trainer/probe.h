// `locus-trainer probe`: runs one prior on tensors from a file, to compare it with published code.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kProbeUsage =
    "locus-trainer probe --spec FILE [--level attention|block|stage|model]\n"
    "                    (--grid RxC [--reference RxC] | --points AXES) [--prefix P]\n"
    "                    [--layer L | --layer STAGE.L | --network-stage S] [--layers N]\n"
    "                    [--dtype float64|float32|bfloat16] [--path NAME] [--seed N] [--step N] [--training]\n"
    "                    (--in FILE.safetensors | --init) --out FILE.safetensors\n"
    "       locus-trainer probe --component KIND:ID [--spec FILE] [--in FILE.safetensors] --out FILE.safetensors\n"
    "       locus-trainer probe --list [--spec FILE]\n"
    "  computes what a layer, a block, a stage or a model makes of given tensors; --init writes the initial "
    "parameters\n"
    "  instead; --list prints ids, options, hooks, paths and parameter names (docs/formats/probe.md)\n";

// Returns the exit status: 0, 2 on wrong arguments, names or shapes.
int run_probe(std::span<const std::string> arguments);

}  // namespace locus

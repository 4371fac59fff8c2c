// `locus-trainer measure`: what models cost, side by side, without a server.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kMeasureUsage =
    "locus-trainer measure --models FILE [--against LABEL] [--batch N,N..] [--resolution N,N..]\n"
    "                      [--rounds N] [--warmup N] [--round-ms N] [--no-training]\n"
    "                      [--device cpu|cuda] [--index N] [--threads N] [--json] [--out FILE]\n"
    "  FILE: a JSON list of {\"label\", \"configuration\"}, each a stage configuration; measures them in "
    "turn "
    "within\n"
    "  every round and prints a table with ratios to LABEL (the first one), or one JSON document "
    "(docs/measuring.md)\n";

// Returns the exit status: 0, 1 when a measurement failed, 2 on wrong arguments or files.
int run_measure(std::span<const std::string> arguments);

}  // namespace locus

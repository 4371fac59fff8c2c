// `locus-trainer data`: which datasets this machine holds.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kDataUsage =
    "locus-trainer data list [--data-root DIR] [--json]\n"
    "       locus-trainer data verify ID [--options JSON] [--data-root DIR] [--json]\n"
    "       locus-trainer data make fashion-scenes --to FOLDER [--data-root DIR] [--json]\n"
    "  list: what lies there of every dataset of the catalog, and how to get the rest; verify: reads one through;\n"
    "  make: writes small datasets made of Fashion-MNIST\n";

// Returns the exit status: 0, 1 when data is missing or damaged, 2 on wrong arguments.
int run_data(std::span<const std::string> arguments);

}  // namespace locus

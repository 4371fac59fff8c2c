// `locus-trainer picture`: what a prior does, as numbers and as a PNG file.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kPictureUsage =
    "locus-trainer picture PRIOR [--options JSON] [--grid RxC] [--heads N] [--head-width N] [--layer L]\n"
    "                    [--layers N] [--seed N] [--checkpoint FILE.safetensors] [--json FILE]\n"
    "                    [--png FILE [--view NAME] [--query ROW,COLUMN]...]\n"
    "       locus-trainer picture --all FOLDER\n"
    "  bias, factor and attention over the grid at initialization or from a checkpoint of that shape; "
    "prints\n"
    "  the document unless it goes to a file (docs/formats/picture.md); --all: those of the catalog, as "
    "committed\n";

// Returns the exit status: 0, 2 on wrong arguments or files.
int run_picture(std::span<const std::string> arguments);

}  // namespace locus

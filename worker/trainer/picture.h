// `locus-trainer picture`: what a prior does, as numbers and as a PNG file.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kPictureUsage =
    "locus-trainer picture PRIOR [--options JSON] [--grid RxC] [--heads N] [--head-width N] [--layer L]\n"
    "                    [--layers N] [--seed N] [--checkpoint FILE.safetensors] [--json FILE]\n"
    "                    [--png FILE [--view NAME] [--query ROW,COLUMN]...]\n"
    "       locus-trainer picture --trained REQUEST.json [--json FILE] [--png FILE [--view NAME]\n"
    "                    [--query ROW,COLUMN]] [--memory MIB] [--seconds N]\n"
    "       locus-trainer picture --all FOLDER\n"
    "  bias, factor and attention over the grid at initialization or from a checkpoint of that shape; "
    "prints\n"
    "  the document unless it goes to a file (docs/formats/picture.md); --trained: what training made of a "
    "model;\n"
    "  --all: those of the catalog, as committed; --memory and --seconds end it when it takes more\n";

// Returns the exit status: 0, 2 on wrong arguments or files, 3 where weights or data are not what they should be.
int run_picture(std::span<const std::string> arguments);

}  // namespace locus

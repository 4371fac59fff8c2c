// `locus-trainer once`: one training run from a file, without daemon or server, for tools and for trying
// things.
#pragma once

#include <span>
#include <string>

namespace locus {

inline constexpr const char* kOnceUsage =
    "locus-trainer once --config FILE [--data-root DIR] [--device cpu|cuda] [--index N] [--threads N] "
    "[--seed N]\n"
    "                   [--work DIR] [--resolution N]... [--quiet]\n"
    "  trains what FILE (a stage configuration; options may be left out) says, then scores it on the test "
    "split at each\n"
    "  resolution; prints one JSON document\n";

// Returns the exit status: 0, 1 when a stage failed, 2 on wrong arguments.
int run_once(std::span<const std::string> arguments);

}  // namespace locus

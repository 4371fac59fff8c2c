// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace locus {

// Bytes of the machine, or of the control group this process is in (or one above it) where that has less, in either
// version of control groups. 0 where neither can be read. `proc` and `groups` are where these are mounted.
std::int64_t usable_memory(const std::filesystem::path& proc = "/proc",
                           const std::filesystem::path& groups = "/sys/fs/cgroup");

}  // namespace locus

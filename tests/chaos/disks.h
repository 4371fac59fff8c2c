// Small disks of our own, that can be full.
#pragma once

#include <filesystem>
#include <string>

namespace locus::chaos {

// From here on what this process and its children mount is theirs alone and ends with them. Call it before there are threads.
// Empty, or why it cannot be.
std::string begin_own_mounts();

// A file system in memory, mounted at `folder`, which is made. Throws std::runtime_error.
void mount_small_disk(const std::filesystem::path& folder, int mebibytes);

// Takes all room that the disk has left, with one file; free_disk() gives it back. Both throw std::runtime_error.
void fill_disk(const std::filesystem::path& folder);
void free_disk(const std::filesystem::path& folder);

}  // namespace locus::chaos

// Looks at the data folder's disk and tells who stores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "absl/status/statusor.h"
#include "server/runtime/disk_guard.h"

namespace locus::server {

struct DiskSpace {
  std::int64_t size = 0, free = 0;  // bytes
};

// Of the disk that holds `folder`. UNAVAILABLE when it cannot be asked.
absl::StatusOr<DiskSpace> disk_space(const std::filesystem::path& folder);

// Low below 10 % and 2 GiB, full below 2 % and 256 MiB: a large disk is not called full for its size alone.
// Pure.
DiskState judge_disk(const DiskSpace& space);

}  // namespace locus::server

// Looks at the data folder's disk.
#include "server/app/disk_watch.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace locus::server {
namespace {

constexpr std::int64_t kLow = std::int64_t{2} << 30, kFull = std::int64_t{256} << 20;

}  // namespace

absl::StatusOr<DiskSpace> disk_space(const std::filesystem::path& folder) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) {
    return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                      "cannot ask how full the disk of " + folder.string() + " is: " + std::strerror(errno));
  }
  const auto block = static_cast<std::int64_t>(info.f_frsize);
  return DiskSpace{block * static_cast<std::int64_t>(info.f_blocks), block * static_cast<std::int64_t>(info.f_bavail)};
}

DiskState judge_disk(const DiskSpace& space) {
  if (space.free < std::min(space.size / 50, kFull)) return DiskState::kFull;
  if (space.free < std::min(space.size / 10, kLow)) return DiskState::kLow;
  return DiskState::kOk;
}

}  // namespace locus::server

// The data folder's lock.
#include "storage/sqlite/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/error.h"

namespace locus::sqlite {
namespace {

absl::Status unusable(const std::filesystem::path& folder, const std::string& why) {
  return make_error(
      absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderUnusable,
      "the data folder " + folder.string() + " cannot be used: " + why + "; make it writable or choose another one", {},
      {{"folder", folder.string()}});
}

std::string holder(int fd) {
  char text[32] = {};
  const ssize_t size = pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  pid.erase(pid.find_last_not_of(" \n") + 1);
  return pid.empty() ? "unknown" : pid;
}

bool on_network(const std::filesystem::path& folder) {
  constexpr long kNetworkFileSystems[] = {0x6969 /* nfs */, 0xff534d42 /* cifs */, 0xfe534d42 /* smb2 */,
                                          0x517b /* smb */, 0x5346414f /* afs */};
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) return false;
  for (const long magic : kNetworkFileSystems) {
    if (static_cast<std::uint32_t>(info.f_type) == static_cast<std::uint32_t>(magic)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<FolderLock> FolderLock::acquire(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return unusable(folder, error.message());
  if (on_network(folder)) return unusable(folder, "it lies on a network file system, the database needs a local disk");
  const int fd = open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return unusable(folder, std::strerror(errno));
  FolderLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unusable(folder, std::strerror(errno));
    const std::string pid = holder(fd);
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderInUse,
                      "the data folder " + folder.string() + " is in use by the server with process id " + pid +
                          ": stop it, or give this one another folder",
                      {}, {{"folder", folder.string()}, {"pid", pid}});
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return unusable(folder, std::strerror(errno));
  }
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace locus::sqlite

// Mounts in a namespace of this process, and a ballast.
#include "tests/chaos/disks.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/base/fd.h"

namespace locus::chaos {
namespace fs = std::filesystem;
namespace {

constexpr off_t kLargest = 64 << 20, kSmallest = 4096;

fs::path ballast_of(const fs::path& folder) { return folder / "ballast"; }

[[noreturn]] void cannot(const std::string& doing, const fs::path& path) {
  throw std::runtime_error("cannot " + doing + " " + path.string() + ": " + std::strerror(errno));
}

}  // namespace

std::string begin_own_mounts() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return std::string("mounting small disks is for root alone: ") + std::strerror(errno);
  return {};
}

void mount_small_disk(const fs::path& folder, int mebibytes) {
  fs::create_directories(folder);
  const std::string options = "mode=0700,size=" + std::to_string(mebibytes) + "m";
  if (::mount("locus-chaos", folder.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, options.c_str()) != 0)
    cannot("mount", folder);
}

void fill_disk(const fs::path& folder) {
  const fs::path ballast = ballast_of(folder);
  const Fd file(::open(ballast.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) cannot("open", ballast);
  off_t size = 0;
  for (off_t piece = kLargest; piece >= kSmallest;) {
    if (::fallocate(file.get(), 0, size, piece) == 0) {
      size += piece;
    } else if (errno == ENOSPC) {
      piece /= 2;
    } else if (errno != EINTR) {
      cannot("fill", ballast);
    }
  }
}

void free_disk(const fs::path& folder) {
  if (::unlink(ballast_of(folder).c_str()) != 0) cannot("remove", ballast_of(folder));
}

}  // namespace locus::chaos

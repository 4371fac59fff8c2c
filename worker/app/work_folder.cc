// The lock and the name of a work folder.
#include "worker/app/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/base/error.h"
#include "core/base/ids.h"

namespace locus {
namespace fs = std::filesystem;

fs::path default_work() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data) return fs::path(data) / "locus-worker";
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : ".") / ".local/share/locus-worker";
}

absl::StatusOr<Fd> lock_folder(const fs::path& work) {
  const fs::path path = work / "lock";
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    return make_error(absl::ErrnoToStatusCode(errno), ErrorReason::kDataFolderUnusable,
                      "cannot write in the work folder " + work.string() + ": " + std::strerror(errno) +
                          "; choose another with --work",
                      "work", {{"path", work.string()}});
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return make_error(
        absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderInUse,
        "another worker uses the work folder " + work.string() + ": stop it, or give this one its own with --work",
        "work", {{"path", work.string()}});
  }
  return lock;
}

absl::StatusOr<std::string> instance_of(const fs::path& work) {
  const fs::path path = work / "instance";
  std::string folder, boot;
  std::ifstream(path) >> folder;
  if (folder.empty()) {
    folder = random_uuid();
    std::ofstream out(path);
    out << folder << "\n";
    if (!out.flush()) {
      return make_error(absl::StatusCode::kUnavailable, ErrorReason::kDataFolderUnusable,
                        "cannot write " + path.string() + ": look at its disk, or choose another folder with --work",
                        "work", {{"path", path.string()}});
    }
  }
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return folder + "@" + boot;
}

}  // namespace locus

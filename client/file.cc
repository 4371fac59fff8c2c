// Durable files.
#include "client/file.h"

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace locus {

absl::Status file_error(const std::string& doing, const std::filesystem::path& path) {
  const std::string why = std::strerror(errno);
  return make_error(absl::ErrnoToStatusCode(errno), ErrorReason::kStorageFailed,
                    "cannot " + doing + " " + path.string() + ": " + why, "",
                    {{"path", path.string()}, {"found", why}});
}

absl::Status write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return file_error("write", path);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status sync_folder(const std::filesystem::path& folder) {
  const File file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  if (file.fd() < 0 || ::fsync(file.fd()) != 0) return file_error("flush the folder", folder);
  return absl::OkStatus();
}

}  // namespace locus

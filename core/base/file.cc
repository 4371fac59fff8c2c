// Durable files.
#include "core/base/file.h"

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace locus {

Fd open_file(const std::filesystem::path& path, int flags, mode_t mode) {
  return Fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
}

absl::Status file_error(const std::string& doing, const std::filesystem::path& path, int error) {
  const std::string why = std::strerror(error);
  return make_error(absl::ErrnoToStatusCode(error), ErrorReason::kStorageFailed,
                    "cannot " + doing + " " + path.string() + ": " + why, "",
                    {{"path", path.string()}, {"found", why}});
}

absl::Status file_error(const std::string& doing, const std::filesystem::path& path) {
  return file_error(doing, path, errno);
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
  const Fd fd = open_file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  if (!fd || ::fsync(fd.get()) != 0) return file_error("flush the folder", folder);
  return absl::OkStatus();
}

namespace {

absl::Status replace(const std::filesystem::path& path, std::string_view bytes, mode_t mode, bool flush) {
  std::filesystem::path fresh = path;
  fresh += ".new";
  const Fd fd = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC, mode);
  if (!fd) return file_error("create", fresh);
  LOCUS_RETURN_IF_ERROR(write_all(fd.get(), bytes, fresh));
  if (flush && ::fsync(fd.get()) != 0) return file_error("flush", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return file_error("rename", fresh);
  return absl::OkStatus();
}

}  // namespace

absl::Status replace_file(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  return replace(path, bytes, mode, false);
}

absl::Status sync_file(const std::filesystem::path& path) {
  const Fd fd = open_file(path, O_RDONLY);
  if (!fd || ::fsync(fd.get()) != 0) return file_error("flush", path);
  return absl::OkStatus();
}

absl::Status write_file_durably(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  LOCUS_RETURN_IF_ERROR(replace(path, bytes, mode, true));
  return sync_folder(path.parent_path());
}

}  // namespace locus

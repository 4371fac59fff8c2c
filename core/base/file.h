// Files that must be whole and durable: a name that is there means all of the bytes, also after a crash.
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/base/fd.h"

namespace locus {

// Never inherited by children. Without a descriptor and with errno when it cannot be opened.
Fd open_file(const std::filesystem::path& path, int flags, mode_t mode = 0644);

// What `error` says of `path`, as STORAGE_FAILED: "cannot open x: No such file or directory".
absl::Status file_error(const std::string& doing, const std::filesystem::path& path, int error);
absl::Status file_error(const std::string& doing, const std::filesystem::path& path);  // of errno

// Errors as above; `path` is for them alone.
absl::Status write_all(int fd, std::string_view bytes, const std::filesystem::path& path);
// Puts what was renamed or made in the folder on the medium; "" is the present one.
absl::Status sync_folder(const std::filesystem::path& folder);
// The bytes under that name at once, or what was there before: written to PATH.new and renamed. Not flushed: a power cut
// may leave anything.
absl::Status replace_file(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);
// Puts the bytes of a file on the medium.
absl::Status sync_file(const std::filesystem::path& path);
// The bytes under that name, or what was there before, whatever happens meanwhile: written to PATH.new, flushed, renamed,
// the folder flushed.
absl::Status write_file_durably(const std::filesystem::path& path, std::string_view bytes, mode_t mode = 0644);

}  // namespace locus

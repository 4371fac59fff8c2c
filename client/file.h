// Files that must be whole and durable: a descriptor that closes itself and the calls the client makes on it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace locus {

class File {
 public:
  File(const std::filesystem::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// What errno says of `path`, as STORAGE_FAILED: "cannot open x: No such file or directory".
absl::Status file_error(const std::string& doing, const std::filesystem::path& path);
absl::Status write_all(int fd, std::string_view bytes, const std::filesystem::path& path);
absl::Status sync_folder(const std::filesystem::path& folder);

}  // namespace locus

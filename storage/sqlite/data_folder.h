// The data folder's lock: one server on one folder, on a local disk.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"

namespace locus::sqlite {

// Holds `folder`/lock while it lives; never a lock on the database file itself. The kernel lets go when the
// process dies.
class FolderLock {
 public:
  // Makes the folder if it is missing. DATA_FOLDER_IN_USE names the process that holds it;
  // DATA_FOLDER_UNUSABLE when it cannot be made or written, or lies on a network file system, where a
  // write-ahead log does not work.
  static absl::StatusOr<FolderLock> acquire(const std::filesystem::path& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace locus::sqlite

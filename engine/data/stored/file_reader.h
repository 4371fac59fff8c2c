// Bytes of files, whole or a piece of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/fd.h"

namespace locus::engine {

// A file open for reading. Thread-safe: reading moves no position.
class ReadFile {
 public:
  explicit ReadFile(const std::filesystem::path& path);  // throws DataError that names it

  std::int64_t size() const { return size_; }
  const std::string& stamp() const {
    return stamp_;
  }  // size, time of change and inode, which a changed file has others of
  // Exactly `bytes` of them. Throws DataError when the file ends before, or cannot be read.
  std::vector<std::byte> read(std::int64_t offset, std::int64_t bytes) const;

 private:
  std::filesystem::path path_;
  Fd fd_;
  std::int64_t size_ = 0;
  std::string stamp_;
};

// The stamp of the file under that name; "" when there is none.
std::string file_stamp(const std::filesystem::path& path);

// The whole text of a file. Throws DataError when it cannot be read or has more than `most` bytes.
std::string read_text_file(const std::filesystem::path& path, std::int64_t most);

}  // namespace locus::engine

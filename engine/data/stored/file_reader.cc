// Reads by position.
#include "engine/data/stored/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

std::string stamp_text(const struct stat& info) {
  return std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec) + " " + std::to_string(info.st_ino);
}

}  // namespace

ReadFile::ReadFile(const std::filesystem::path& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat info {};
  if (!fd_ || ::fstat(fd_.get(), &info) != 0)
    throw DataError(path.string() + " cannot be opened: " + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw DataError(path.string() + " is no plain file");
  size_ = info.st_size;
  stamp_ = stamp_text(info);
}

std::vector<std::byte> ReadFile::read(std::int64_t offset, std::int64_t bytes) const {
  if (offset < 0 || bytes < 0 || bytes > size_ - offset) {
    throw DataError(path_.string() + " has " + std::to_string(size_) + " bytes, and those from " +
                    std::to_string(offset) + " to " + std::to_string(offset + bytes) + " are wanted: it is truncated");
  }
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t got =
        ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(path_.string() + " cannot be read to its end: " + std::strerror(errno));
    if (got == 0) throw DataError(path_.string() + " became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

std::string file_stamp(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? stamp_text(info) : "";
}

std::string read_text_file(const std::filesystem::path& path, std::int64_t most) {
  const ReadFile file(path);
  if (file.size() > most) {
    throw DataError(path.string() + " has " + std::to_string(file.size()) + " bytes, more than the " +
                    std::to_string(most) + " that such a list may have");
  }
  const std::vector<std::byte> bytes = file.read(0, file.size());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace locus::engine

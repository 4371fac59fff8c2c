// The worker's blobs by digest.
#include "worker/link/artifact_cache.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/sha256.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

absl::Status cache_error(const std::string& doing, const fs::path& path, const std::error_code& error) {
  return make_error(absl::ErrnoToStatusCode(error.value()), ErrorReason::kStorageFailed,
                    "cannot " + doing + " " + path.string() + ": " + error.message(), "",
                    {{"path", path.string()}, {"found", error.message()}});
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A disk that does not say is taken for an empty one.
std::int64_t free_bytes_of(const fs::path& folder) {
  std::error_code error;
  const auto space = fs::space(folder, error);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return error || space.available > static_cast<std::uintmax_t>(kMost / 2) ? kMost / 2
                                                                           : static_cast<std::int64_t>(space.available);
}

}  // namespace

absl::StatusOr<std::string> file_sha256(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  Sha256 hash;
  std::vector<char> bytes(64 << 10);
  while (in) {
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    hash.update(std::string_view(bytes.data(), static_cast<std::size_t>(in.gcount())));
  }
  if (!in.eof()) return cache_error("read", path, std::error_code(errno, std::generic_category()));
  return hash.hex_digest();
}

absl::StatusOr<std::unique_ptr<ArtifactCache>> ArtifactCache::open(const fs::path& folder, std::int64_t max_bytes,
                                                                   std::function<std::int64_t()> free_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cache_error("create", folder, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) {  // left by a daemon that was killed
    if (entry.path().filename().string().starts_with("taken-")) fs::remove(entry.path(), error);
  }
  if (!free_bytes) free_bytes = [folder] { return free_bytes_of(folder); };
  std::unique_ptr<ArtifactCache> cache(new ArtifactCache(folder, max_bytes, std::move(free_bytes)));
  cache->bytes_ = max_bytes + 1;  // unknown: the first arrival looks
  return cache;
}

ArtifactCache::Pin ArtifactCache::pin(const std::string& sha256) {
  if (auto held = pinned_[sha256].lock()) return held;
  auto blob = std::make_shared<const Blob>(Blob{sha256, folder_ / sha256});
  pinned_[sha256] = blob;
  checked_.insert(sha256);
  std::error_code ignored;
  fs::last_write_time(blob->path, fs::file_time_type::clock::now(),
                      ignored);  // used now: trim() orders by it
  return blob;
}

absl::StatusOr<ArtifactCache::Pin> ArtifactCache::adopt(const fs::path& file) {
  // Ours first, then hashed: its maker may write another file under the old name at any time.
  const fs::path taken = folder_ / ("taken-" + std::to_string(taken_++));
  std::error_code error;
  // Never through a link: whoever made the file might have put one in the folder's or the file's place.
  const Fd place(::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place || ::renameat(place.get(), file.filename().c_str(), AT_FDCWD, taken.c_str()) != 0)
    return cache_error("take over", file, std::error_code(errno, std::generic_category()));
  if (!fs::is_regular_file(fs::symlink_status(taken, error))) {
    fs::remove_all(taken, error);
    return cache_error("take over", file, std::make_error_code(std::errc::invalid_argument));
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string sha256, file_sha256(taken));
  std::lock_guard lock(mutex_);
  fs::rename(taken, folder_ / sha256, error);
  if (error) return cache_error("keep", taken, error);
  Pin pinned = pin(sha256);
  arrived(pinned->path);
  return pinned;
}

absl::StatusOr<ArtifactCache::Pin> ArtifactCache::fetch(const std::string& sha256, Client& client,
                                                        const CallOptions& call) {
  if (!is_digest(sha256)) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "\"" + sha256 + "\" is not a digest");
  }
  std::lock_guard one(download_);
  const fs::path path = folder_ / sha256;
  {
    std::lock_guard lock(mutex_);
    if (fs::exists(path) && checked_.contains(sha256)) return pin(sha256);
  }
  if (fs::exists(path)) {
    const auto found = file_sha256(path);
    std::lock_guard lock(mutex_);
    if (found.ok() && *found == sha256) return pin(sha256);
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  LOCUS_RETURN_IF_ERROR(client.download_artifact(sha256, path, call));
  std::lock_guard lock(mutex_);
  Pin pinned = pin(sha256);
  arrived(pinned->path);
  return pinned;
}

// A cache of thousands of small models is not to be listed whenever one comes.
void ArtifactCache::arrived(const fs::path& blob) {
  std::error_code ignored;
  const auto bytes = fs::file_size(blob, ignored);
  if (!ignored) bytes_ += static_cast<std::int64_t>(bytes);
  if (bytes_ > max_bytes_ || bytes_ > free_bytes_()) trim();
}

void ArtifactCache::make_room() {
  std::lock_guard lock(mutex_);
  if (bytes_ > free_bytes_()) trim();
}

void ArtifactCache::trim() {
  std::erase_if(pinned_, [](const auto& entry) { return entry.second.expired(); });
  struct File {
    fs::file_time_type used;
    fs::path path;
    std::int64_t bytes = 0;
  };
  std::vector<File> files;
  std::int64_t total = 0, held = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (pinned_.contains(entry.path().filename().string())) {
      held += static_cast<std::int64_t>(entry.file_size(error));
      continue;
    }
    File file{entry.last_write_time(error), entry.path(), static_cast<std::int64_t>(entry.file_size(error))};
    total += file.bytes;
    files.push_back(std::move(file));
  }
  const std::int64_t most = std::min(max_bytes_, (total + free_bytes_()) / 2);  // what leaves is free then
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= most) break;
    if (!is_digest(file.path.filename().string())) continue;  // under way
    fs::remove(file.path, error);
    checked_.erase(file.path.filename().string());
    total -= file.bytes;
  }
  bytes_ = total + held;
}

}  // namespace locus

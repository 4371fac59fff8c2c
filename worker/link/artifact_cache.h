// The worker's blobs by digest: checkpoints it made, uploaded from here, and inputs it downloaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace locus {

// Thread-safe.
class ArtifactCache {
 public:
  struct Blob {
    std::string sha256;
    std::filesystem::path path;
  };
  using Pin = std::shared_ptr<const Blob>;  // shared by its users: the file stays as long as one holds it

  // Keeps at most `max_bytes` of blobs nobody holds, and no more than the disk has free besides; the longest unused leave
  // first. `folder` is created. `free_bytes` says what the disk has; without it the system does.
  static absl::StatusOr<std::unique_ptr<ArtifactCache>> open(const std::filesystem::path& folder,
                                                             std::int64_t max_bytes,
                                                             std::function<std::int64_t()> free_bytes = {});

  // Moves a file in, under the digest of its bytes. The file must be on the same file system.
  absl::StatusOr<Pin> adopt(const std::filesystem::path& file);
  // The blob if it is here and sound, otherwise downloaded. One download at a time.
  absl::StatusOr<Pin> fetch(const std::string& sha256, Client& client, const CallOptions& call);
  // Before something is to be written beside it: others may have filled the disk since the last blob came.
  void make_room();

 private:
  ArtifactCache(std::filesystem::path folder, std::int64_t max_bytes, std::function<std::int64_t()> free_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes), free_bytes_(std::move(free_bytes)) {}
  Pin pin(const std::string& sha256);
  void trim();
  void arrived(const std::filesystem::path& blob);

  const std::filesystem::path folder_;
  const std::int64_t max_bytes_;
  const std::function<std::int64_t()> free_bytes_;
  std::atomic<int> taken_ = 0;  // names files on their way in
  std::mutex download_;         // taken before mutex_
  std::mutex mutex_;
  std::int64_t bytes_ = 0;  // of the folder at most: below the limit nothing need be looked at
  std::map<std::string, std::weak_ptr<const Blob>> pinned_;
  std::set<std::string> checked_;  // hashed, or made, by this process
};

// SHA-256 of a file's bytes.
absl::StatusOr<std::string> file_sha256(const std::filesystem::path& path);

}  // namespace locus

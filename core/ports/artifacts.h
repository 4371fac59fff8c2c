// The artifact port: immutable blobs named by their SHA-256.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace locus {

// One upload. Thread-compatible. Destroyed without commit(): leaves nothing.
class ArtifactWriter {
 public:
  virtual ~ArtifactWriter() = default;
  virtual absl::Status write(std::string_view bytes) = 0;
  // Makes the blob durable (fsync, rename, fsync of the folder) if it hashes to `sha256`; DIGEST_MISMATCH
  // otherwise.
  virtual absl::Status commit(const std::string& sha256) = 0;
};

// Thread-safe. `sha256` is checked to be 64 lower-case hex digits before it is used for anything.
class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;
  virtual absl::StatusOr<std::unique_ptr<ArtifactWriter>> create() = 0;
  virtual absl::StatusOr<std::int64_t> size(const std::string& sha256) = 0;  // ARTIFACT_NOT_FOUND
  virtual absl::StatusOr<std::string> read(const std::string& sha256, std::int64_t offset,
                                           std::int64_t most) = 0;  // short at the end
  virtual absl::Status remove(const std::string& sha256) = 0;       // OK when it is not there
  // Digests of the blobs here, in order, after this one; "" from the first.
  virtual absl::StatusOr<std::vector<std::string>> list(const std::string& after, int limit) = 0;
  // Where anybody may read the blob for that long without asking the server; empty: nowhere. Says nothing of whether it is there.
  virtual std::string direct_url(const std::string& sha256, std::chrono::seconds lifetime) {
    (void)sha256, (void)lifetime;
    return {};
  }
};

}  // namespace locus

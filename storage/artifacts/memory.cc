// Artifacts in memory.
#include "storage/artifacts/memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "storage/artifacts/name.h"

namespace locus {
namespace {

struct Blobs {
  std::mutex mutex;
  std::map<std::string, std::string> by_name;
};

class MemoryWriter final : public ArtifactWriter {
 public:
  explicit MemoryWriter(std::shared_ptr<Blobs> blobs) : blobs_(std::move(blobs)) {}

  absl::Status write(std::string_view bytes) override {
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  absl::Status commit(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    const std::string found = sha256_hex(bytes_);
    if (found != sha256) return digest_mismatch(sha256, found);
    const std::lock_guard lock(blobs_->mutex);
    blobs_->by_name.emplace(sha256, std::move(bytes_));
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<Blobs> blobs_;  // shared: a writer may outlive its store
  std::string bytes_;
};

class MemoryArtifacts final : public ArtifactStore {
 public:
  absl::StatusOr<std::unique_ptr<ArtifactWriter>> create() override { return std::make_unique<MemoryWriter>(blobs_); }

  absl::StatusOr<std::int64_t> size(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    const std::lock_guard lock(blobs_->mutex);
    const auto at = blobs_->by_name.find(sha256);
    if (at == blobs_->by_name.end()) return artifact_missing(sha256);
    return static_cast<std::int64_t>(at->second.size());
  }

  absl::StatusOr<std::string> read(const std::string& sha256, std::int64_t offset, std::int64_t most) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    LOCUS_RETURN_IF_ERROR(check_artifact_range(offset, most));
    const std::lock_guard lock(blobs_->mutex);
    const auto at = blobs_->by_name.find(sha256);
    if (at == blobs_->by_name.end()) return artifact_missing(sha256);
    const std::string& bytes = at->second;
    const auto from = std::min(bytes.size(), static_cast<std::size_t>(offset));
    return bytes.substr(from, static_cast<std::size_t>(most));
  }

  absl::Status remove(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    const std::lock_guard lock(blobs_->mutex);
    blobs_->by_name.erase(sha256);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> list(const std::string& after, int limit) override {
    const std::lock_guard lock(blobs_->mutex);
    std::vector<std::string> out;
    for (auto at = blobs_->by_name.upper_bound(after);
         at != blobs_->by_name.end() && static_cast<int>(out.size()) < limit; ++at) {
      out.push_back(at->first);
    }
    return out;
  }

 private:
  std::shared_ptr<Blobs> blobs_ = std::make_shared<Blobs>();
};

}  // namespace

std::unique_ptr<ArtifactStore> make_memory_artifacts() { return std::make_unique<MemoryArtifacts>(); }

}  // namespace locus

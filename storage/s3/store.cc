// Every blob has two homes: the bucket, which is the truth, and a folder of copies (storage/artifacts/folder.h), through which all
// bytes pass. So an upload is hashed before it goes up, a download before anybody sees it, and ranges are read from a disk.
#include "storage/s3/store.h"

#include <fcntl.h>

#include <list>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "storage/artifacts/folder.h"
#include "storage/artifacts/name.h"
#include "storage/s3/upload.h"

namespace locus {
namespace {

constexpr std::size_t kStripes = 64;  // downloads of different blobs go on beside each other
constexpr std::size_t kSizesMost = 100'000;
constexpr int kPage = 1000;  // the most keys a listing gives

// Which copies the folder holds, the longest unused first. Thread-safe.
class Copies {
 public:
  Copies(ArtifactStore& folder, std::int64_t most) : folder_(folder), most_(most) {}

  void used(const std::string& sha256, std::int64_t bytes) {
    std::lock_guard lock(mutex_);
    if (const auto found = places_.find(sha256); found != places_.end()) {
      order_.splice(order_.end(), order_, found->second);
      return;
    }
    places_[sha256] = order_.insert(order_.end(), {sha256, bytes});
    total_ += bytes;
    while (total_ > most_ && order_.size() > 1) drop(order_.begin());
  }
  void forget(const std::string& sha256) {
    std::lock_guard lock(mutex_);
    if (const auto found = places_.find(sha256); found != places_.end()) drop(found->second);
  }

 private:
  using Order = std::list<std::pair<std::string, std::int64_t>>;
  void drop(Order::iterator at) {
    (void)folder_.remove(at->first);  // what stays is a copy too many, no harm
    total_ -= at->second;
    places_.erase(at->first);
    order_.erase(at);
  }
  ArtifactStore& folder_;
  const std::int64_t most_;
  std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, Order::iterator> places_;
  std::int64_t total_ = 0;
};

// What the bucket is known to hold: nobody else writes there. Thread-safe.
class Sizes {
 public:
  void put(const std::string& sha256, std::int64_t bytes) {
    std::lock_guard lock(mutex_);
    if (known_.size() >= kSizesMost) known_.clear();
    known_[sha256] = bytes;
  }
  void forget(const std::string& sha256) {
    std::lock_guard lock(mutex_);
    known_.erase(sha256);
  }
  std::int64_t get(const std::string& sha256) {  // -1: unknown
    std::lock_guard lock(mutex_);
    const auto found = known_.find(sha256);
    return found == known_.end() ? -1 : found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t> known_;
};

class S3Artifacts final : public ArtifactStore {
 public:
  S3Artifacts(S3Options options, std::unique_ptr<ArtifactStore> folder, Clock& clock)
      : options_(std::move(options)),
        connection_(options_.place, options_.keys, options_.patience),
        folder_(std::move(folder)),
        copies_(*folder_, options_.copies_bytes),
        clock_(clock) {}

  absl::Status open() {
    std::string after;
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(const auto names, folder_->list(after, kPage));
      if (names.empty()) break;
      for (const std::string& name : names) {
        const auto size = folder_->size(name);
        if (size.ok()) copies_.used(name, *size);
      }
      after = names.back();
    }
    return list("", 1).status();
  }

  absl::StatusOr<std::unique_ptr<ArtifactWriter>> create() override;

  absl::StatusOr<std::int64_t> size(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    if (const std::int64_t known = sizes_.get(sha256); known >= 0) return known;
    LOCUS_ASSIGN_OR_RETURN(const S3Answer answer, connection_.send({"HEAD", s3_key(options_.place, sha256)}));
    if (answer.status == 404) return artifact_missing(sha256);
    if (answer.status != 200 || answer.length < 0) return connection_.refused("looking for a blob", answer);
    sizes_.put(sha256, answer.length);
    return answer.length;
  }

  absl::StatusOr<std::string> read(const std::string& sha256, std::int64_t offset, std::int64_t most) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    LOCUS_RETURN_IF_ERROR(check_artifact_range(offset, most));
    if (auto bytes = folder_->read(sha256, offset, most); bytes.ok() || !absl::IsNotFound(bytes.status())) return bytes;
    std::lock_guard one(downloads_[static_cast<unsigned char>(sha256[1]) % kStripes]);
    auto bytes = folder_->read(sha256, offset, most);  // another thread may have fetched it
    if (bytes.ok() || !absl::IsNotFound(bytes.status())) return bytes;
    LOCUS_RETURN_IF_ERROR(fetch(sha256));
    return folder_->read(sha256, offset, most);
  }

  absl::Status remove(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    sizes_.forget(sha256);
    LOCUS_ASSIGN_OR_RETURN(const S3Answer answer, connection_.send({"DELETE", s3_key(options_.place, sha256)}));
    if (answer.status != 200 && answer.status != 204 && answer.status != 404)
      return connection_.refused("removing a blob", answer);
    copies_.forget(sha256);
    return folder_->remove(sha256);
  }

  absl::StatusOr<std::vector<std::string>> list(const std::string& after, int limit) override {
    std::vector<std::string> out;
    const std::string folder = options_.place.prefix.empty() ? "sha256/" : options_.place.prefix + "/sha256/";
    std::string from = after.empty() ? "" : s3_key(options_.place, after);
    while (static_cast<int>(out.size()) < limit) {
      const int asked = std::min(kPage, limit - static_cast<int>(out.size()));
      S3Call call{"GET", "", {{"list-type", "2"}, {"max-keys", std::to_string(asked)}, {"prefix", folder}}};
      if (!from.empty()) call.query["start-after"] = from;
      LOCUS_ASSIGN_OR_RETURN(const S3Answer answer, connection_.send(call));
      if (answer.status != 200) return connection_.refused("listing blobs", answer);
      const auto keys = xml_texts(answer.body, "Key");
      for (const std::string& key : keys) {  // what is no blob's is somebody else's
        const std::string_view digest = s3_digest(options_.place, key);
        if (check_artifact_name(digest).ok()) out.emplace_back(digest);
      }
      if (keys.empty() || xml_text(answer.body, "IsTruncated") != "true") break;
      if (keys.back() <= from) return listing_stands();
      from = keys.back();
    }
    return out;
  }

  std::string direct_url(const std::string& sha256, std::chrono::seconds lifetime) override {
    if (!check_artifact_name(sha256).ok()) return {};
    return s3_presigned_url(options_.place, options_.keys, s3_key(options_.place, sha256), lifetime, clock_.wall());
  }

  // Of a blob that the folder holds: it goes up, or is there already.
  absl::Status upload(const std::string& sha256) {
    LOCUS_ASSIGN_OR_RETURN(const std::int64_t bytes, folder_->size(sha256));
    const std::filesystem::path path = options_.folder / sha256.substr(0, 2) / sha256;
    const Fd file = open_file(path, O_RDONLY);
    if (!file) return file_error("open", path);
    const std::string key = s3_key(options_.place, sha256);
    LOCUS_RETURN_IF_ERROR(bytes <= options_.whole_bytes
                              ? s3_put_whole(connection_, key, file.get(), bytes, sha256)
                              : s3_put_in_parts(connection_, key, file.get(), bytes, options_.part_bytes));
    sizes_.put(sha256, bytes);
    copies_.used(sha256, bytes);
    return absl::OkStatus();
  }
  ArtifactStore& folder() { return *folder_; }

 private:
  absl::Status listing_stands() const {
    return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                      "listing blobs in bucket " + options_.place.bucket + " at " + options_.place.endpoint +
                          ": the object store says there is more and gives what it gave before; does it speak S3?",
                      "", {{"endpoint", options_.place.endpoint}, {"bucket", options_.place.bucket}});
  }
  // One blob down into the folder, going on where a connection broke.
  absl::Status fetch(const std::string& sha256) {
    LOCUS_ASSIGN_OR_RETURN(const std::int64_t bytes, size(sha256));
    LOCUS_ASSIGN_OR_RETURN(const auto writer, folder_->create());
    std::int64_t taken = 0;
    for (int tried = 1; taken < bytes; ++tried) {
      const std::int64_t before = taken;
      S3Call call{"GET", s3_key(options_.place, sha256)};
      if (taken > 0) call.headers.push_back("Range: bytes=" + std::to_string(taken) + "-");
      absl::Status local;
      call.sink = [&](std::string_view piece) {
        if (taken + static_cast<std::int64_t>(piece.size()) > bytes) return digest_mismatch(sha256, "more bytes");
        local = writer->write(piece);
        taken += static_cast<std::int64_t>(piece.size());
        return local;
      };
      const auto answer = connection_.send(call);
      LOCUS_RETURN_IF_ERROR(local);
      if (answer.ok()) {
        if (answer->status == 404) return artifact_missing(sha256);
        // A store that ignores the range would give the beginning once more.
        if (answer->status != (before > 0 ? 206 : 200)) return connection_.refused("reading a blob", *answer);
      } else if (absl::IsDataLoss(answer.status())) {
        return answer.status();
      }
      if (taken >= bytes) break;
      if (taken > before) tried = 0;
      if (!connection_.wait_to_retry(tried + 1))
        return answer.ok() ? digest_mismatch(sha256, "fewer bytes") : answer.status();
    }
    LOCUS_RETURN_IF_ERROR(writer->commit(sha256));
    copies_.used(sha256, bytes);
    return absl::OkStatus();
  }

  const S3Options options_;
  S3Connection connection_;
  const std::unique_ptr<ArtifactStore> folder_;
  Copies copies_;
  Sizes sizes_;
  Clock& clock_;
  std::array<std::mutex, kStripes> downloads_;
};

// Gathers and hashes in the folder; what it commits there goes up before anybody is told.
class S3Writer final : public ArtifactWriter {
 public:
  S3Writer(S3Artifacts& store, std::unique_ptr<ArtifactWriter> writer) : store_(store), writer_(std::move(writer)) {}
  absl::Status write(std::string_view bytes) override { return writer_->write(bytes); }
  absl::Status commit(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(writer_->commit(sha256));
    const absl::Status status = store_.upload(sha256);
    if (!status.ok()) (void)store_.folder().remove(sha256);  // or a read would find what the bucket does not hold
    return status;
  }

 private:
  S3Artifacts& store_;
  std::unique_ptr<ArtifactWriter> writer_;
};

absl::StatusOr<std::unique_ptr<ArtifactWriter>> S3Artifacts::create() {
  LOCUS_ASSIGN_OR_RETURN(auto writer, folder_->create());
  return std::make_unique<S3Writer>(*this, std::move(writer));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ArtifactStore>> open_s3_artifacts(S3Options options, Clock& clock) {
  LOCUS_ASSIGN_OR_RETURN(auto folder, open_folder_artifacts(options.folder));
  auto store = std::make_unique<S3Artifacts>(std::move(options), std::move(folder), clock);
  LOCUS_RETURN_IF_ERROR(store->open());
  return store;
}

}  // namespace locus

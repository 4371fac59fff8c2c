// A copy of a server's data, made while it runs.
#include <set>
#include <vector>

#include "client/impl.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/sha256.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "locus.db";

absl::Status prepare(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder / "artifacts", error);
  if (error) {
    return make_error(absl::ErrnoToStatusCode(error.value()), ErrorReason::kStorageFailed,
                      "cannot make the folder " + folder.string() + ": " + error.message() + "; choose another one", "",
                      {{"path", folder.string()}});
  }
  if (!fs::exists(folder / kDatabase)) return absl::OkStatus();
  return make_error(absl::StatusCode::kAlreadyExists, ErrorReason::kDataFolderUnusable,
                    folder.string() + " holds a database already; name a folder that is new", "",
                    {{"path", folder.string()}});
}

// Takes the stream in: the database into `file`, the blobs' names and sizes into `blobs`.
class Intake {
 public:
  Intake(int fd, const fs::path& path) : fd_(fd), path_(path) {}

  absl::Status take(const v1::BackupResponse& part) {
    if (part.has_header()) header_ = part.header();
    if (part.has_blob()) blobs_.push_back(part.blob());
    if (part.part_case() != v1::BackupResponse::kChunk) return absl::OkStatus();
    hash_.update(part.chunk());
    bytes_ += static_cast<std::int64_t>(part.chunk().size());
    return write_all(fd_, part.chunk(), path_);
  }
  absl::Status finish() {
    const std::string found = hash_.hex_digest();
    if (found != header_.sha256() || bytes_ != header_.bytes()) {
      return make_error(absl::StatusCode::kDataLoss, ErrorReason::kDigestMismatch,
                        "the copy of the database arrived damaged: it hashes to " + found + ", not " +
                            header_.sha256() + "; make the backup again",
                        "", {{"expected", header_.sha256()}, {"found", found}});
    }
    if (::fsync(fd_) != 0) return file_error("flush", path_);
    return absl::OkStatus();
  }
  const v1::BackupResponse::Header& header() const { return header_; }
  const std::vector<v1::BackupBlob>& blobs() const { return blobs_; }

 private:
  const int fd_;
  const fs::path path_;
  Sha256 hash_;
  std::int64_t bytes_ = 0;
  v1::BackupResponse::Header header_;
  std::vector<v1::BackupBlob> blobs_;
};

}  // namespace

absl::StatusOr<BackupSummary> Client::backup(const fs::path& folder, const CallOptions& call) {
  LOCUS_RETURN_IF_ERROR(prepare(folder));
  const fs::path part = folder / (std::string(kDatabase) + ".part");
  const Fd file = open_file(part, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return file_error("create", part);
  Intake intake(file.get(), part);
  impl_->settle();
  grpc::ClientContext context;
  Cancellation::Guard guard(call.cancellation, &context);
  const auto reader = impl_->stub<v1::AdminService>().Backup(&context, v1::BackupRequest());
  v1::BackupResponse message;
  absl::Status local;
  while (local.ok() && reader->Read(&message)) local = intake.take(message);
  if (!local.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  LOCUS_RETURN_IF_ERROR(local);
  if (!status.ok()) return impl_->refusal(status);
  LOCUS_RETURN_IF_ERROR(intake.finish());
  BackupSummary summary;
  summary.database_bytes = intake.header().bytes();
  summary.schema_version = intake.header().schema_version();
  std::set<std::string> names;
  for (const v1::BackupBlob& blob : intake.blobs()) {
    if (!names.insert(blob.sha256()).second) continue;
    const fs::path path = folder / "artifacts" / blob.sha256().substr(0, 2) / blob.sha256();
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (!fs::exists(path, error)) LOCUS_RETURN_IF_ERROR(download_artifact(blob.sha256(), path, call));
    ++summary.artifacts;
    summary.artifact_bytes += blob.bytes();
  }
  if (::rename(part.c_str(), (folder / kDatabase).c_str()) != 0) return file_error("rename", part);
  LOCUS_RETURN_IF_ERROR(sync_folder(folder));
  return summary;
}

}  // namespace locus

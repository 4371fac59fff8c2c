// What is done with a backup folder, without a server.
#include "server/app/backup.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "storage/artifacts/folder.h"
#include "storage/sqlite/data_folder.h"
#include "storage/sqlite/store.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "locus.db";
constexpr std::size_t kPiece = 1 << 20;

absl::Status invalid(const fs::path& folder, const std::string& why) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kBackupInvalid,
                    folder.string() + " is no whole backup: " + why + "; make a new one with `locus backup`", "",
                    {{"folder", folder.string()}});
}

absl::Status failed(const std::string& doing, const fs::path& path, const std::string& why) {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                    "cannot " + doing + " " + path.string() + ": " + why, "", {{"path", path.string()}});
}

absl::Status sync(const fs::path& path) {
  const Fd file = open_file(path, O_RDONLY);
  if (file && ::fsync(file.get()) == 0) return absl::OkStatus();
  return failed("flush", path, std::strerror(errno));
}

fs::path blob_path(const fs::path& folder, const std::string& sha256) {
  return folder / "artifacts" / sha256.substr(0, 2) / sha256;
}

absl::StatusOr<std::string> hash_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return failed("read", path, std::strerror(errno));
  Sha256 hash;
  std::string piece(kPiece, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
    hash.update(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount())));
  return hash.hex_digest();
}

absl::StatusOr<CheckSummary> look(const fs::path& folder, std::vector<ArtifactRow>* named) {
  const fs::path file = folder / kDatabase;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return invalid(folder, "it has no " + std::string(kDatabase));
  LOCUS_ASSIGN_OR_RETURN(const StoreReport report, check_sqlite_file(file, named));
  CheckSummary out{report.problems, report.bytes, 0, 0, report.schema_version};
  for (const ArtifactRow& row : *named) {
    const auto found = hash_of(blob_path(folder, row.sha256));
    ++out.artifacts;
    out.artifact_bytes += row.bytes;
    if (!found.ok()) {
      out.problems.push_back("artifact " + row.sha256 + " is missing");
    } else if (*found != row.sha256) {
      out.problems.push_back("artifact " + row.sha256 + " is damaged: it hashes to " + *found);
    }
  }
  return out;
}

absl::Status copy_whole(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return failed("copy " + from.string() + " to", to, error.message());
  fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, error);
  return sync(to);
}

}  // namespace

absl::StatusOr<CheckSummary> check_backup(const fs::path& folder) {
  std::vector<ArtifactRow> named;
  return look(folder, &named);
}

absl::StatusOr<RestoreSummary> restore_backup(const fs::path& folder, const fs::path& data) {
  std::vector<ArtifactRow> named;
  LOCUS_ASSIGN_OR_RETURN(const CheckSummary checked, look(folder, &named));
  if (!checked.problems.empty()) return invalid(folder, checked.problems.front());
  LOCUS_ASSIGN_OR_RETURN(const auto lock, sqlite::FolderLock::acquire(data));
  const fs::path target = data / kDatabase;
  if (fs::exists(target)) {
    return make_error(absl::StatusCode::kAlreadyExists, ErrorReason::kDataFolderUnusable,
                      data.string() + " holds a database already; restore into a folder that is new", "",
                      {{"folder", data.string()}});
  }
  for (const ArtifactRow& row : named)
    LOCUS_RETURN_IF_ERROR(copy_whole(blob_path(folder, row.sha256), blob_path(data, row.sha256)));
  fs::path fresh = target;
  fresh += ".part";
  LOCUS_RETURN_IF_ERROR(copy_whole(folder / kDatabase, fresh));
  std::error_code error;
  fs::rename(fresh, target, error);
  if (error) return failed("rename", fresh, error.message());
  LOCUS_RETURN_IF_ERROR(sync(data));
  return RestoreSummary{checked.database_bytes, checked.artifacts, checked.artifact_bytes};
}

}  // namespace locus

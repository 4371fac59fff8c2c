// Artifacts in a folder: written aside, synced, renamed, the folder synced; so a name means a whole blob,
// after any crash.
#include "storage/artifacts/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "storage/artifacts/name.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

absl::Status failed(const std::string& verb, const fs::path& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return make_error(full ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable,
                    ErrorReason::kStorageFailed,
                    "cannot " + verb + " " + path.string() + ": " + std::strerror(error) +
                        (full ? "; free space and try again" : ""));
}

absl::Status unusable(const fs::path& folder, const std::string& why) {
  return make_error(
      absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderUnusable,
      "the artifact folder " + folder.string() + " cannot be used: " + why + "; make it writable or choose another one",
      {}, {{"folder", folder.string()}});
}

absl::Status flush_folder(const fs::path& folder) {
  const Fd file = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!file || fsync(file.get()) != 0) return failed("sync", folder, errno);
  return absl::OkStatus();
}

fs::path path_of(const fs::path& root, const std::string& sha256) { return root / sha256.substr(0, 2) / sha256; }

class FolderWriter final : public ArtifactWriter {
 public:
  FolderWriter(fs::path root, fs::path path)
      : root_(std::move(root)), path_(std::move(path)), file_(open_file(path_, O_WRONLY | O_CREAT | O_EXCL, 0600)) {}
  ~FolderWriter() override {
    if (file_ && !moved_) unlink(path_.c_str());
  }
  bool open_failed() const { return !file_; }

  absl::Status write(std::string_view bytes) override {
    if (!status_.ok()) return status_;
    hash_.update(bytes);
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(file_.get(), bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      // What was written in part cannot be trusted, so the upload ends here.
      if (wrote < 0) return status_ = failed("write", path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return absl::OkStatus();
  }

  absl::Status commit(const std::string& sha256) override {
    if (!status_.ok()) return status_;
    status_ = finish(sha256);
    absl::Status out = status_;
    if (status_.ok()) status_ = absl::FailedPreconditionError("the upload was committed already");
    return out;
  }

 private:
  absl::Status finish(const std::string& sha256) {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    const std::string found = hash_.hex_digest();
    if (found != sha256) return digest_mismatch(sha256, found);
    const fs::path target = path_of(root_, sha256);
    if (fsync(file_.get()) != 0) return failed("sync", path_, errno);
    if (mkdir(target.parent_path().c_str(), 0700) == 0) {
      LOCUS_RETURN_IF_ERROR(flush_folder(root_));
    } else if (errno != EEXIST) {
      return failed("make", target.parent_path(), errno);
    }
    if (rename(path_.c_str(), target.c_str()) != 0)
      return failed("rename", path_, errno);  // over an equal one: harmless
    moved_ = true;
    return flush_folder(target.parent_path());
  }

  fs::path root_, path_;
  Fd file_;
  Sha256 hash_;
  absl::Status status_;
  bool moved_ = false;
};

class FolderArtifacts final : public ArtifactStore {
 public:
  explicit FolderArtifacts(fs::path root) : root_(std::move(root)) {}

  absl::StatusOr<std::unique_ptr<ArtifactWriter>> create() override {
    const std::string name = std::to_string(getpid()) + "-" + std::to_string(next_.fetch_add(1));
    auto writer = std::make_unique<FolderWriter>(root_, root_ / "incoming" / name);
    if (writer->open_failed()) return failed("create", root_ / "incoming" / name, errno);
    return writer;
  }

  absl::StatusOr<std::int64_t> size(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    struct stat info {};
    const fs::path path = path_of(root_, sha256);
    if (stat(path.c_str(), &info) != 0) return absent(sha256, path, errno);
    return static_cast<std::int64_t>(info.st_size);
  }

  absl::StatusOr<std::string> read(const std::string& sha256, std::int64_t offset, std::int64_t most) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    LOCUS_RETURN_IF_ERROR(check_artifact_range(offset, most));
    const fs::path path = path_of(root_, sha256);
    const Fd file = open_file(path, O_RDONLY);
    if (!file) return absent(sha256, path, errno);
    struct stat info {};
    if (fstat(file.get(), &info) != 0) return failed("read", path, errno);
    const std::int64_t left = std::max<std::int64_t>(0, info.st_size - offset);
    std::string out(static_cast<std::size_t>(std::min(most, left)), '\0');
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = pread(file.get(), out.data() + done, out.size() - done, offset + static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("read", path, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    out.resize(done);
    return out;
  }

  absl::Status remove(const std::string& sha256) override {
    LOCUS_RETURN_IF_ERROR(check_artifact_name(sha256));
    const fs::path path = path_of(root_, sha256);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path, errno);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> list(const std::string& after, int limit) override {
    std::vector<std::string> out;
    std::error_code error;
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(root_, error)) {
      const std::string name = entry.path().filename().string();
      if (name.size() == 2 && name >= after.substr(0, 2)) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
      std::vector<std::string> names;
      for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (check_artifact_name(name).ok() && name > after) names.push_back(name);
      }
      std::sort(names.begin(), names.end());
      for (std::string& name : names) {
        if (static_cast<int>(out.size()) >= limit) return out;
        out.push_back(std::move(name));
      }
    }
    if (error) return failed("list", root_, error.value());
    return out;
  }

 private:
  static absl::Status absent(const std::string& sha256, const fs::path& path, int error) {
    return error == ENOENT ? artifact_missing(sha256) : failed("open", path, error);
  }

  fs::path root_;
  std::atomic<std::int64_t> next_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ArtifactStore>> open_folder_artifacts(const fs::path& folder) {
  std::error_code error;
  const fs::path incoming = folder / "incoming";
  fs::create_directories(incoming, error);
  if (error) return unusable(folder, error.message());
  for (const auto& entry : fs::directory_iterator(incoming, error)) {
    std::error_code ignored;  // what cannot be removed is litter, not danger
    fs::remove(entry.path(), ignored);
  }
  if (error) return unusable(folder, error.message());
  if (access(incoming.c_str(), W_OK | X_OK) != 0) return unusable(folder, std::strerror(errno));
  LOCUS_RETURN_IF_ERROR(flush_folder(folder));
  return std::make_unique<FolderArtifacts>(folder);
}

}  // namespace locus

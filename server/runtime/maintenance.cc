// Looking after the data.
#include "server/runtime/maintenance.h"

#include <algorithm>
#include <fstream>
#include <memory>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/sha256.h"
#include "core/limits.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

constexpr int kPage = 500;
constexpr int kProblemsMost = 1000;

// A file that is gone when the last who knows it is.
class ScratchFile {
 public:
  explicit ScratchFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

absl::Status held() {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                    "a backup began less than an hour ago and may still fetch blobs, so none is removed now");
}

absl::Status unreadable() {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
                    "the copy of the database cannot be read back; look at the disk, then try again");
}

void add_problem(const std::string& subject, const std::string& sentence, v1::CheckReport* out) {
  if (out->problems_size() >= kProblemsMost) return;
  auto* problem = out->add_problems();
  problem->set_subject(subject);
  problem->set_sentence(sentence);
}

// Reads the copy out, then lists the blobs it names.
class BackupSource {
 public:
  BackupSource(Store& store, std::shared_ptr<ScratchFile> file, v1::BackupResponse::Header header)
      : store_(store), file_(std::move(file)), header_(std::move(header)), in_(file_->path(), std::ios::binary) {}

  absl::StatusOr<std::optional<v1::BackupResponse>> next() {
    v1::BackupResponse out;
    if (!std::exchange(begun_, true)) {
      *out.mutable_header() = header_;
      return out;
    }
    if (sent_ < header_.bytes()) {
      std::string chunk(static_cast<std::size_t>(std::min(kChunkBytes, header_.bytes() - sent_)), '\0');
      if (!in_.read(chunk.data(), static_cast<std::streamsize>(chunk.size()))) return unreadable();
      sent_ += static_cast<std::int64_t>(chunk.size());
      out.set_chunk(std::move(chunk));
      return out;
    }
    while (page_.empty() && !ended_) {
      LOCUS_ASSIGN_OR_RETURN(page_, store_.artifacts(after_, kPage));
      ended_ = page_.size() < static_cast<std::size_t>(kPage);
      if (!page_.empty()) after_ = page_.back().row.sha256;
      std::erase_if(page_, [](const ArtifactView& view) { return !view.named && !view.row.pinned; });
      std::reverse(page_.begin(), page_.end());
    }
    if (page_.empty()) return std::optional<v1::BackupResponse>();
    out.mutable_blob()->set_sha256(page_.back().row.sha256);
    out.mutable_blob()->set_bytes(page_.back().row.bytes);
    page_.pop_back();
    return out;
  }

 private:
  Store& store_;
  const std::shared_ptr<ScratchFile> file_;
  const v1::BackupResponse::Header header_;
  std::ifstream in_;
  bool begun_ = false, ended_ = false;
  std::int64_t sent_ = 0;
  std::string after_;
  std::vector<ArtifactView> page_;
};

}  // namespace

Maintenance::Maintenance(Store& store, ArtifactStore& artifacts, ArtifactGate& gate, Clock& clock,
                         std::filesystem::path scratch, std::string version)
    : store_(store),
      artifacts_(artifacts),
      gate_(gate),
      clock_(clock),
      scratch_(std::move(scratch)),
      version_(std::move(version)) {}

// The row first: a crash between the two leaves a blob without a row, which the next sweep removes.
absl::Status Maintenance::collect_one(const std::string& sha256, Microseconds created_before, std::int64_t* bytes) {
  absl::Status status = absl::OkStatus();
  if (clock_.steady() < hold_until_) return held();
  gate_.unless_uploading(sha256, [&] {
    const auto size = artifacts_.size(sha256);
    const Mutation collect = CollectArtifact{sha256, created_before};
    status = store_.apply({&collect, 1}, clock_.wall());
    if (status.ok()) status = artifacts_.remove(sha256);
    if (status.ok() && size.ok()) *bytes += *size;
  });
  return status;
}

void Maintenance::collect_now(const std::vector<std::string>& digests) {
  for (const std::string& sha256 : digests) {
    std::int64_t bytes = 0;
    const absl::Status status = collect_one(sha256, clock_.wall() + 1, &bytes);
    if (!status.ok()) log_info("{} stays: {}", sha256, std::string(status.message()));
  }
}

absl::Status Maintenance::release_checkpoints(bool dry_run, v1::CollectGarbageResponse* out) {
  for (StageId after = 0;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto stages, store_.stages_to_release(after, kPage));
    for (const StageId id : stages) {
      LOCUS_ASSIGN_OR_RETURN(const auto before, store_.checkpoints(id));
      const Mutation release = ReleaseCheckpoints{id};
      if (!dry_run) LOCUS_RETURN_IF_ERROR(store_.apply({&release, 1}, clock_.wall()));
      LOCUS_ASSIGN_OR_RETURN(const auto left, store_.checkpoints(id));
      // A dry run counts stages, of which each has at least one to spare.
      out->set_checkpoints(out->checkpoints() + (dry_run ? 1 : static_cast<int>(before.size() - left.size())));
      after = id;
    }
    if (stages.size() < static_cast<std::size_t>(kPage)) return absl::OkStatus();
  }
}

// Blobs without a row: a crash came between the two removals, or between a blob and its first row. Those may
// be uploads under way, so the gate is asked and the row looked for again under it.
absl::Status Maintenance::sweep_orphans(bool dry_run, v1::CollectGarbageResponse* out) {
  for (std::string after;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto names, artifacts_.list(after, kPage));
    for (const std::string& sha256 : names) {
      after = sha256;
      gate_.unless_uploading(sha256, [&] {
        if (!absl::IsNotFound(store_.artifact(sha256).status())) return;
        const auto size = artifacts_.size(sha256);
        if (!dry_run && !artifacts_.remove(sha256).ok()) return;
        out->set_artifacts(out->artifacts() + 1);
        out->set_bytes(out->bytes() + size.value_or(0));
      });
    }
    if (names.size() < static_cast<std::size_t>(kPage)) return absl::OkStatus();
  }
}

absl::StatusOr<v1::CollectGarbageResponse> Maintenance::collect_garbage(const v1::CollectGarbageRequest& request) {
  if (!request.dry_run() && clock_.steady() < hold_until_) return held();
  v1::CollectGarbageResponse out;
  out.set_dry_run(request.dry_run());
  LOCUS_RETURN_IF_ERROR(release_checkpoints(request.dry_run(), &out));
  const Microseconds created_before = clock_.wall() - kArtifactGrace.count();
  for (std::string after;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto views, store_.artifacts(after, kPage));
    for (const ArtifactView& view : views) {
      after = view.row.sha256;
      if (view.named || view.row.pinned || view.row.created_us >= created_before) continue;
      std::int64_t bytes = request.dry_run() ? view.row.bytes : 0;
      const absl::Status collected =
          request.dry_run() ? absl::OkStatus() : collect_one(view.row.sha256, created_before, &bytes);
      if (has_reason(collected, ErrorReason::kWrongState)) continue;  // named since
      LOCUS_RETURN_IF_ERROR(collected);
      out.set_artifacts(out.artifacts() + 1);
      out.set_bytes(out.bytes() + bytes);
    }
    if (views.size() < static_cast<std::size_t>(kPage)) break;
  }
  LOCUS_RETURN_IF_ERROR(sweep_orphans(request.dry_run(), &out));
  return out;
}

absl::Status Maintenance::check_artifacts(bool deep, v1::CheckReport* out) {
  for (std::string after;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto views, store_.artifacts(after, kPage));
    for (const ArtifactView& view : views) {
      after = view.row.sha256;
      out->set_artifacts(out->artifacts() + 1);
      const std::string subject = "artifacts/" + view.row.sha256;
      const auto size = artifacts_.size(view.row.sha256);
      if (!size.ok()) {
        add_problem(subject, "its blob is missing: " + std::string(size.status().message()), out);
        continue;
      }
      out->set_artifact_bytes(out->artifact_bytes() + *size);
      if (*size != view.row.bytes) {
        add_problem(subject, "its blob has " + std::to_string(*size) + " bytes, not " + std::to_string(view.row.bytes),
                    out);
        continue;
      }
      if (!deep) continue;
      Sha256 hash;
      for (std::int64_t at = 0; at < *size; at += kChunkBytes) {
        const auto chunk = artifacts_.read(view.row.sha256, at, kChunkBytes);
        if (!chunk.ok()) break;  // then the hash differs
        hash.update(*chunk);
      }
      if (const std::string found = hash.hex_digest(); found != view.row.sha256)
        add_problem(subject, "its bytes hash to " + found + ": the blob is damaged", out);
    }
    if (views.size() < static_cast<std::size_t>(kPage)) return absl::OkStatus();
  }
}

absl::StatusOr<v1::CheckReport> Maintenance::check(const v1::CheckRequest& request) {
  v1::CheckReport out;
  LOCUS_ASSIGN_OR_RETURN(const StoreReport report, store_.check());
  for (const std::string& problem : report.problems) add_problem("database", problem, &out);
  out.set_database_bytes(report.bytes);
  out.set_schema_version(report.schema_version);
  LOCUS_RETURN_IF_ERROR(check_artifacts(request.deep(), &out));
  out.set_ok(out.problems_size() == 0);
  return out;
}

absl::StatusOr<PullSource<v1::BackupResponse>> Maintenance::backup() {
  std::error_code error;
  std::filesystem::create_directories(scratch_, error);
  auto file = std::make_shared<ScratchFile>(scratch_ / ("backup-" + random_uuid() + ".db"));
  hold_until_ = clock_.steady() + kArtifactGrace.count();  // first: what the copy names stays from here on
  LOCUS_ASSIGN_OR_RETURN(const int schema_version, store_.copy_to(file->path()));
  v1::BackupResponse::Header header;
  Sha256 hash;
  std::ifstream in(file->path(), std::ios::binary);
  std::string chunk(kChunkBytes, '\0');
  std::int64_t bytes = 0;
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
    hash.update(std::string_view(chunk).substr(0, static_cast<std::size_t>(in.gcount())));
    bytes += in.gcount();
  }
  header.set_bytes(bytes);
  header.set_sha256(hash.hex_digest());
  header.set_schema_version(schema_version);
  header.set_server_version(version_);
  auto source = std::make_shared<BackupSource>(store_, std::move(file), std::move(header));
  return PullSource<v1::BackupResponse>([source] { return source->next(); });
}

}  // namespace locus::server

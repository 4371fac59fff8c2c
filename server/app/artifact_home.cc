// A folder, or an object store.
#include "server/app/artifact_home.h"

#include "core/base/error.h"
#include "core/limits.h"
#include "core/log/log.h"
#include "storage/artifacts/folder.h"
#include "storage/s3/store.h"

namespace locus::server {
namespace {

absl::Status copy_artifact(ArtifactStore& from, ArtifactStore& to, const std::string& sha256) {
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t bytes, from.size(sha256));
  LOCUS_ASSIGN_OR_RETURN(const auto writer, to.create());
  for (std::int64_t at = 0; at < bytes;) {
    LOCUS_ASSIGN_OR_RETURN(const std::string piece, from.read(sha256, at, kChunkBytes));
    if (piece.empty()) return absl::DataLossError("artifact " + sha256 + " ended before its size");
    LOCUS_RETURN_IF_ERROR(writer->write(piece));
    at += static_cast<std::int64_t>(piece.size());
  }
  return writer->commit(sha256);
}

}  // namespace

absl::StatusOr<int> copy_artifacts(ArtifactStore& from, ArtifactStore& to) {
  constexpr int kNames = 1000;  // at a time
  int copied = 0;
  for (std::string after;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto names, from.list(after, kNames));
    if (names.empty()) return copied;
    for (const std::string& sha256 : names) {
      const auto there = to.size(sha256);
      if (there.ok()) continue;
      if (!absl::IsNotFound(there.status())) return there.status();
      LOCUS_RETURN_IF_ERROR(copy_artifact(from, to, sha256));
      ++copied;
    }
    after = names.back();
  }
}

absl::StatusOr<std::unique_ptr<ArtifactStore>> open_artifacts(const ArtifactOptions& options,
                                                              const std::filesystem::path& data, Clock& clock) {
  const std::filesystem::path folder = data / "artifacts";
  if (options.address.empty()) {
    if (!options.endpoint.empty() || !options.region.empty() || !options.credentials.empty())
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                        "--s3-endpoint, --s3-region and --s3-credentials say how to reach an object store, and none is "
                        "named; add --artifacts s3://BUCKET/PREFIX",
                        "artifacts");
    return open_folder_artifacts(folder);
  }
  S3Options s3;
  LOCUS_ASSIGN_OR_RETURN(s3.place, parse_s3_place(options.address, options.endpoint, options.region));
  LOCUS_ASSIGN_OR_RETURN(s3.keys, find_s3_keys(options.credentials));
  s3.folder = data / "copies";
  s3.copies_bytes = options.copies_gib << 30;
  LOCUS_ASSIGN_OR_RETURN(auto store, open_s3_artifacts(std::move(s3), clock));
  if (std::filesystem::exists(folder)) {
    LOCUS_ASSIGN_OR_RETURN(const auto former, open_folder_artifacts(folder));
    LOCUS_ASSIGN_OR_RETURN(const int copied, copy_artifacts(*former, *store));
    if (copied > 0) log_info("{} artifacts of {} are in {} now", copied, folder.string(), options.address);
  }
  return store;
}

}  // namespace locus::server

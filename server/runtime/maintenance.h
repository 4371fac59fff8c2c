// Maintenance of stored data: garbage collection, checks, backups.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "core/ports/store.h"
#include "locus/v1/admin_service.pb.h"
#include "server/runtime/artifact_gate.h"
#include "server/runtime/pull_source.h"

namespace locus::server {

// Thread-safe; every method blocks, some for seconds: call it from the work pool. Everything given must
// outlive it.
class Maintenance {
 public:
  // `scratch`: a folder on the data's disk for copies under way; empty for a store in memory.
  Maintenance(Store& store, ArtifactStore& artifacts, ArtifactGate& gate, Clock& clock, std::filesystem::path scratch,
              std::string version);

  absl::StatusOr<v1::CollectGarbageResponse> collect_garbage(const v1::CollectGarbageRequest& request);
  // Removes these at once if nothing names them any more: after a deletion.
  void collect_now(const std::vector<std::string>& digests);
  absl::StatusOr<v1::CheckReport> check(const v1::CheckRequest& request);
  // A copy of the database in pieces, then the digests it needs. The copy is gone when the source is.
  absl::StatusOr<PullSource<v1::BackupResponse>> backup();

 private:
  absl::Status collect_one(const std::string& sha256, Microseconds created_before, std::int64_t* bytes);
  absl::Status release_checkpoints(bool dry_run, v1::CollectGarbageResponse* out);
  absl::Status check_artifacts(bool deep, v1::CheckReport* out);
  absl::Status sweep_orphans(bool dry_run, v1::CollectGarbageResponse* out);

  Store& store_;
  ArtifactStore& artifacts_;
  ArtifactGate& gate_;
  Clock& clock_;
  const std::filesystem::path scratch_;
  const std::string version_;
  std::atomic<Microseconds> hold_until_{0};  // steady; for a backup under way nothing is collected before
};

}  // namespace locus::server

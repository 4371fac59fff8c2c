// Where a server keeps its blobs.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "server/app/serve.h"

namespace locus::server {

// The folder `data`/artifacts, or the object store that the options name, with copies under `data`/copies. What the folder
// holds and the store does not is uploaded first, so that a server may move to a store at any start; the folder stays as it is. Blocks.
// Errors of the options, of storage/artifacts/folder.h and of storage/s3/store.h.
absl::StatusOr<std::unique_ptr<ArtifactStore>> open_artifacts(const ArtifactOptions& options,
                                                              const std::filesystem::path& data, Clock& clock);

// Writes every blob of `from` that `to` does not hold into it; returns how many. Stops at the first failure.
absl::StatusOr<int> copy_artifacts(ArtifactStore& from, ArtifactStore& to);

}  // namespace locus::server

// Artifacts in a folder: <folder>/<first two digits>/<sha256>, uploads under <folder>/incoming until they are
// whole.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "core/ports/artifacts.h"

namespace locus {

// Makes the folder if it is missing and removes uploads that an earlier process left unfinished; one process
// at a time may open it. DATA_FOLDER_UNUSABLE when it cannot be made or written.
absl::StatusOr<std::unique_ptr<ArtifactStore>> open_folder_artifacts(const std::filesystem::path& folder);

}  // namespace locus

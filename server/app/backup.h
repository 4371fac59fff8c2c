// What is done with a backup folder, without a server: checked, and made a data folder again. Making one is
// the client's (client/client.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace locus {

struct CheckSummary {
  std::vector<std::string> problems;  // empty: the backup is whole
  std::int64_t database_bytes = 0, artifacts = 0, artifact_bytes = 0;
  int schema_version = 0;
};
struct RestoreSummary {
  std::int64_t database_bytes = 0, artifacts = 0, artifact_bytes = 0;
};

// Reads everything, hashes every blob; changes nothing. FAILED_PRECONDITION (BACKUP_INVALID) when there is no
// database to look at.
absl::StatusOr<CheckSummary> check_backup(const std::filesystem::path& folder);

// Copies a whole backup to `data`, which then serves. ALREADY_EXISTS (DATA_FOLDER_UNUSABLE) when a database
// is there, DATA_FOLDER_IN_USE, BACKUP_INVALID with the first problem when the backup is not whole. The
// database appears last, so an interrupted restore leaves no data folder that would serve.
absl::StatusOr<RestoreSummary> restore_backup(const std::filesystem::path& folder, const std::filesystem::path& data);

}  // namespace locus

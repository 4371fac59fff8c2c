// The store on SQLite: what the server runs on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/store.h"

namespace locus {

struct SqliteOptions {
  int readers = 4;  // connections for reading
  std::string vfs;  // SQLite's name of a file layer; empty: the system's. For fault injection
};

// Opens or makes `folder`/locus.db, holding `folder`/lock until the store is destroyed. DATA_FOLDER_IN_USE
// names the process that has it; DATA_FOLDER_UNUSABLE says why it cannot be made, read, written or understood
// (another program's or a newer schema, a damaged file). Destroying the store waits for queued writes; no
// call may be in flight. `clock` must outlive the call only.
//
// Beyond the port: RESOURCE_EXHAUSTED (STORAGE_FAILED) while the disk is full, nothing stored, and writes
// work again once there is room; after any other failure of the disk every write is UNAVAILABLE
// (STORAGE_FAILED) until the server is restarted; DATA_LOSS for a read that meets damage.
absl::StatusOr<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& folder, Clock& clock,
                                                         const SqliteOptions& options = {});

// Looks at a database file that no server uses, of this schema or an earlier one; changes nothing. Also lists
// the artifacts its rows name. DATA_LOSS or UNAVAILABLE (STORAGE_FAILED) when it cannot be read at all,
// DATA_FOLDER_UNUSABLE when it is no database of Locus.
absl::StatusOr<StoreReport> check_sqlite_file(const std::filesystem::path& file, std::vector<ArtifactRow>* named);

}  // namespace locus

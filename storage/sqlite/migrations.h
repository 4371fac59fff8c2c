// The schema's versions, forward only.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "storage/sqlite/connection.h"

namespace locus::sqlite {

struct Migration {
  const char* name;
  const char* sql;
};

std::span<const Migration> migrations();  // number 1 first

bool is_ours(Connection& connection);  // by its application id

// Brings the database of a writing connection to the newest version, each step in one transaction.
// DATA_FOLDER_UNUSABLE for a file of another program or of a newer Locus; throws SqliteError.
absl::Status migrate(Connection& connection, Microseconds now_wall_us);

}  // namespace locus::sqlite

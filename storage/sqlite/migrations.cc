// Applies migrations; application_id and user_version of the file say whose it is and how far it got.
#include "storage/sqlite/migrations.h"

#include <string>

#include "core/base/error.h"

namespace locus::sqlite {
namespace {

constexpr std::int64_t kApplicationId = 0x4c4f4355;  // "LOCU"

absl::Status unusable(std::string message) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderUnusable, std::move(message));
}

}  // namespace

bool is_ours(Connection& connection) { return connection.number("PRAGMA application_id") == kApplicationId; }

absl::Status migrate(Connection& connection, Microseconds now_wall_us) {
  const std::int64_t owner = connection.number("PRAGMA application_id");
  std::int64_t version = connection.number("PRAGMA user_version");
  const bool empty = connection.number("SELECT COUNT(*) FROM sqlite_schema") == 0;
  if (owner != kApplicationId && !(empty && owner == 0 && version == 0)) {
    return unusable("the database belongs to another program (application id " + std::to_string(owner) +
                    "): choose another data folder");
  }
  const auto known = static_cast<std::int64_t>(migrations().size());
  if (version > known) {
    return unusable("the database has schema version " + std::to_string(version) + ", this build knows up to " +
                    std::to_string(known) + ": start a newer Locus, or restore a backup made by this one");
  }
  for (; version < known; ++version) {
    Transaction transaction(connection, Connection::Mode::kWrite);
    connection.execute(migrations()[version].sql);
    connection.prepare("INSERT INTO migration (number, applied_us) VALUES (?, ?)").bind(version + 1, now_wall_us).run();
    connection.execute("PRAGMA application_id=" + std::to_string(kApplicationId) +
                       "; PRAGMA user_version=" + std::to_string(version + 1));
    transaction.commit();
  }
  return absl::OkStatus();
}

}  // namespace locus::sqlite

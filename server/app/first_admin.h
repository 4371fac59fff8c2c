// The first administrator of a server that asks its callers.
#pragma once

#include <filesystem>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "core/ports/store.h"

namespace locus::server {

// Where no token or certificate of an admin is in force: makes a token of the principal "admin" and writes it to
// DATA/first-admin-token, which only the server's user may read. Nothing without a data folder. DATA_FOLDER_UNUSABLE where the
// file cannot be written. Blocks.
absl::Status provide_first_admin(Store& store, Clock& clock, const std::filesystem::path& data);

}  // namespace locus::server

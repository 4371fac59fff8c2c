// The first administrator of a server that asks its callers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/store.h"

namespace locus::server {

// What the first administrator logs in with, in DATA/first-admin-token, which only the server's user may read. `invite` makes an
// invitation to a certificate, or an empty text where an admin has one already; where the server issues none it is null, and
// the file gets a token of the principal "admin", unless a token or certificate of an admin is in force. Nothing without a
// data folder. DATA_FOLDER_UNUSABLE where the file cannot be written. Blocks.
absl::Status provide_first_admin(Store& store, Clock& clock, const std::filesystem::path& data,
                                 const std::function<absl::StatusOr<std::string>()>& invite);

}  // namespace locus::server

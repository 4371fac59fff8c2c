// Changing the server's certificate authority, in its data folder.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace locus {

// Begins a new authority beside the present one, or ends the former one (server/tls/authority.h). A running server sees
// it within a minute. `data` empty: the default folder. A sentence that says what is there now.
absl::StatusOr<std::string> renew_authority(const std::filesystem::path& data);
absl::StatusOr<std::string> retire_authority(const std::filesystem::path& data);

}  // namespace locus

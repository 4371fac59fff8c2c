// Files of weights on their way to the server.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace locus {

// Uploads the file as an artifact and pins it, so that every worker finds it by its SHA-256, which is returned. Cheap where
// the server has it. The file must not change meanwhile (DIGEST_MISMATCH).
absl::StatusOr<std::string> keep_weights(Client& client, const std::string& path);

}  // namespace locus

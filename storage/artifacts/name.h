// The form of an artifact's name, checked before it is used for anything.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace locus {

absl::Status check_artifact_name(std::string_view sha256);  // INVALID_ARGUMENT unless 64 lower-case hex digits
absl::Status artifact_missing(std::string_view sha256);
absl::Status digest_mismatch(std::string_view announced, std::string_view found);
absl::Status check_artifact_range(std::int64_t offset, std::int64_t most);

}  // namespace locus

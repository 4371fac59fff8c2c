// The form of an artifact's name.
#include "storage/artifacts/name.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace locus {

absl::Status check_artifact_name(std::string_view sha256) {
  const bool hex = std::all_of(sha256.begin(), sha256.end(),
                               [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (sha256.size() == 64 && hex) return absl::OkStatus();
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "an artifact is named by 64 lower-case hex digits, not '" + std::string(sha256.substr(0, 80)) + "'",
                    "sha256");
}

absl::Status artifact_missing(std::string_view sha256) {
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kArtifactNotFound,
                    "no artifact " + std::string(sha256) + " is stored: upload it first", {},
                    {{"sha256", std::string(sha256)}});
}

absl::Status digest_mismatch(std::string_view announced, std::string_view found) {
  return make_error(absl::StatusCode::kDataLoss, ErrorReason::kDigestMismatch,
                    "the bytes hash to " + std::string(found) + ", not to the announced " + std::string(announced) +
                        ": send them again",
                    "sha256", {{"announced", std::string(announced)}, {"found", std::string(found)}});
}

absl::Status check_artifact_range(std::int64_t offset, std::int64_t most) {
  if (offset >= 0 && most >= 0) return absl::OkStatus();
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "cannot read " + std::to_string(most) + " bytes at offset " + std::to_string(offset), "offset");
}

}  // namespace locus

// Lengths of time as people write them: "90s", "15m", "23h", "2d".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus {

// A whole number and its unit: s, m, h or d. INVALID_ARGUMENT of `field` for anything else, or more than ten years.
absl::StatusOr<std::chrono::seconds> parse_duration(std::string_view text, const std::string& field);

}  // namespace locus

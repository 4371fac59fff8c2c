// Lengths of time as people write them: "90s", "15m", "23h", "2d"; and times.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/clock.h"

namespace locus {

// A whole number and its unit: s, m, h or d. INVALID_ARGUMENT of `field` for anything else, or more than ten years.
absl::StatusOr<std::chrono::seconds> parse_duration(std::string_view text, const std::string& field);

// A time, wall clock: such a length from `now` on, or what RFC 3339 writes, with or without its seconds:
// "2026-12-01T08:00Z", "2026-12-01T09:00:00+01:00". INVALID_ARGUMENT of `field` for anything else, for times that are not
// after `now`, and for more than ten years.
absl::StatusOr<Microseconds> parse_moment(std::string_view text, Microseconds now, const std::string& field);

}  // namespace locus

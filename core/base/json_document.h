// JSON from outside, refused where it is no sound document.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace locus {

// A JSON document with bounded depth and without duplicate keys; INVALID_ARGUMENT (`reason`) naming `field` and what
// broke. Pure.
absl::StatusOr<Json> parse_json(const std::string& text, ErrorReason reason, const std::string& field);

}  // namespace locus

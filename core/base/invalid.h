// The plainest refusal.
#pragma once

#include <string>

#include "core/base/error.h"

namespace locus {

// INVALID_ARGUMENT of one field of what was asked: `message` says what was found and what to give.
inline absl::Status invalid(const std::string& field, const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message, field);
}

}  // namespace locus

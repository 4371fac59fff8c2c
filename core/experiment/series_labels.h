// The labels of a series, as people write them.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace locus {

// Labels in canonical form; empty counts as "{}". INVALID_ARGUMENT naming `field` unless an object of strings and
// numbers. Pure.
absl::StatusOr<std::string> canonical_labels(const std::string& labels, const std::string& field);

}  // namespace locus

// What a specification varies: settings, partial assignments, factors of the matrix and groups walked
// together.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/experiment/plan/specification.h"

namespace locus {

// All refuse with the fields that are wrong: UNKNOWN_KEY, WRONG_TYPE, EMPTY_MATRIX, INVALID_SPECIFICATION,
// OPTION_OUT_OF_RANGE. Those that add to the specification keep what is right, and note the rest as unread.

// Adds a value at a config path.
absl::Status add_setting(const Specification& spec, Settings& settings, const std::string& path, const Json& value,
                         const std::string& field);
// {config path: value}, at least one.
absl::StatusOr<Settings> parse_assignment(const Specification& spec, const Json& json, const std::string& field);
absl::Status parse_assignments(const Specification& spec, const Json& json, const std::string& field,
                               std::vector<Settings>& out);
// The keys `matrix` and `zip`: axes are added to the specification.
absl::Status parse_matrix(const Json& json, Specification& spec);
absl::Status parse_zip(const Json& json, Specification& spec);
// No factor in both of them.
absl::Status check_factors_once(const Specification& spec);

}  // namespace locus

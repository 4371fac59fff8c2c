// The pieces of option checking that the specification's own keys share with the catalog's options.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"

namespace locus {

// `value` checked against the declaration and normalized (integral floats of integers become integers).
absl::StatusOr<Json> check_option(const OptionSpec& option, const Json& value, const std::string& field);

// UNKNOWN_KEY naming the owner ("the specification", "prior 'violin'") and the nearest known key.
absl::Status unknown_key(const std::string& key, const std::vector<std::string>& known, const std::string& owner,
                         const std::string& field);

std::string show_json(const Json& value);      // short, for messages; never throws
std::string describe_json(const Json& value);  // with its type: the string "abc"
std::string show_option(const Json& value);    // for labels: strings without quotes, lists without brackets

}  // namespace locus

// YAML text to JSON with a line for every value.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

struct YamlDocument {
  Json json;
  std::map<std::string, int> lines;  // field path -> line, from 1
};

// INVALID_SPECIFICATION with metadata "line" when the text is not one document of plain data.
absl::StatusOr<YamlDocument> parse_yaml(std::string_view text);

}  // namespace locus

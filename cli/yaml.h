// YAML text to JSON with a line for every value.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

// The longest key that is taken. Written as JSON it stays below the 1024 characters at which YAML takes a key for text,
// so that what is read can be written and read again.
inline constexpr std::size_t kYamlKeyBytes = 160;

struct YamlDocument {
  Json json;
  std::map<std::string, int> lines;  // field path -> line, from 1
};

// INVALID_SPECIFICATION with metadata "line" when the text is not one document of plain data.
absl::StatusOr<YamlDocument> parse_yaml(std::string_view text);

}  // namespace locus

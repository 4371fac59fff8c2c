// Text from a file or standard input, as every command that takes one reads it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace locus {

// What `path` holds, "-" being standard input. INVALID_SPECIFICATION for a folder and for what cannot be
// opened, LIMIT_EXCEEDED for more than `most` bytes; `what` is what the sentences call it: "a specification".
absl::StatusOr<std::string> read_text(const std::string& path, const std::string& what, std::size_t most);

// A token as a command is given it: "-" is the first line of standard input, "@FILE" that of a file; anything else is the
// token, which whoever lists this machine's processes sees meanwhile. INVALID_ARGUMENT for a source without a first line;
// `field` is how the user gives it. Blocks.
absl::StatusOr<std::string> read_token(const std::string& given, const std::string& field);

}  // namespace locus

// JSON as YAML, for people to read and for specifications to be written from.
#pragma once

#include <string>

#include "core/base/json.h"

namespace locus {

// A block mapping behind `indent` spaces; lists of scalars and short mappings on one line. Parsed as YAML it is
// the same document. Control characters are escaped.
std::string yaml_text(const Json& document, int indent = 0);

}  // namespace locus

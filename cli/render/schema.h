// The reference page of specifications.
#pragma once

#include <string>

#include "core/base/json.h"

namespace locus {

// Markdown, from core/experiment/schema.def and a catalog document.
std::string render_specification_reference(const Json& catalog);

}  // namespace locus

// The reference pages that follow from the schema and the catalog.
#pragma once

#include <string>

#include "core/base/json.h"

namespace locus {

// Markdown, from core/experiment/schema.def and a catalog document.
std::string render_specification_reference(const Json& catalog);

// Markdown: every prior of a catalog document; an overview first.
std::string render_prior_reference(const Json& catalog);

// An item's options as a table, or nothing if it has none.
std::string option_table(const Json& item);

}  // namespace locus

// The papers' claims from their YAML files, and as the one JSON document that servers read.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "core/claims/claims.h"

namespace locus {

// A file of claims/ as JSON, checked by parse_paper(). What breaks the form is refused with metadata "where",
// FILE:LINE.
absl::StatusOr<Json> parse_claims_text(std::string_view text, const std::string& name);

// Every *.yaml of the folder, by name. Papers of one id are refused.
absl::StatusOr<Json> read_claims_folder(const std::filesystem::path& folder);

// The document of parse_claims() for these papers: a table a line, so that a change reads as one.
std::string claims_document(const Json& papers);

}  // namespace locus

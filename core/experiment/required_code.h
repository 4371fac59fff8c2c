// The code of others that a stage runs, as a requirement among those of catalog items (StageRequirements::revisions).
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace locus {

// What a stage asks of workers, and workers offer at kCopyRevision: "extension/own-prior@<digest>". Pure.
std::string extension_requirement(std::string_view name, std::string_view digest);
// The name and the digest in such a requirement; empty ones for what is none.
std::pair<std::string_view, std::string_view> extension_of_requirement(std::string_view requirement);

}  // namespace locus

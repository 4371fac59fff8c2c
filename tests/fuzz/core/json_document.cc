// JSON from outside, and the canonical form that identities are made of.
#include "core/base/json_document.h"

#include <stdexcept>

#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void json_document(std::string_view bytes) {
  const auto document = parse_json(std::string(bytes), ErrorReason::kInvalidArgument, "document");
  if (!document.ok()) return;
  try {
    const std::string canonical = canonical_json(*document);
    const auto again = parse_json(canonical, ErrorReason::kInvalidArgument, "document");
    require(again.ok(), "canonical JSON is JSON");
    require(canonical_json(*again) == canonical, "canonical JSON is its own fixed point");
  } catch (const std::invalid_argument&) {
    // A number without a form; or, beyond 2^53, one whose form is read as an integer that is no double.
  }
}

}  // namespace locus::fuzz

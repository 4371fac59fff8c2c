// Catalog items from outside this tree: what the code of a user brings, announced by the worker that runs it (ADR 44).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"

namespace locus {

// All that one plugin or one training brings. Its items say nothing of where they come from; those of a catalog document
// have the member `origin` (docs/formats/catalog.md).
struct Extension {
  std::string name;    // "own-prior"
  std::string by;      // what runs its items: kPluginOrigin or kTrainingOrigin
  std::string digest;  // SHA-256 of that code
  Json items = Json::array();

  bool operator==(const Extension&) const = default;
};

// Those whose items a catalog document holds, by name.
std::vector<Extension> extensions_of(const Json& document);

// The base, which has none, with the items of `extensions` behind its own: by extension's name, and the same text for the
// same extensions. `newest_first`: of two extensions that bring an item of one name, the first one's counts. Without
// extensions it is the base. INVALID_ARGUMENT for an extension with a name, digest or item that is none;
// FAILED_PRECONDITION (CATALOG_MISMATCH) for an item whose name the base has. Both name the extension. Pure.
absl::StatusOr<Catalog> with_extensions(const Catalog& base, std::span<const Extension> newest_first);

}  // namespace locus

// The catalog that the engine of a worker tells.
#include "core/catalog/catalog.h"

#include "core/base/json_document.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void catalog(std::string_view bytes) {
  const auto document = parse_json(std::string(bytes), ErrorReason::kInvalidArgument, "catalog");
  if (!document.ok()) return;
  const auto parsed = Catalog::parse(*document);
  if (!parsed.ok()) return;
  for (const CatalogItem& item : parsed->items()) {
    const auto resolved = parsed->resolve(item, Json::object(), "options");
    if (resolved.ok()) (void)parsed->scientific(item, *resolved);
  }
}

}  // namespace locus::fuzz

// What a prior has otherwise in single stages of a backbone: `stages` among its options, a list with an entry for each
// stage: options laid over the others, {} where nothing differs, null where the prior is left out. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"

namespace locus {

inline constexpr char kPriorStages[] = "stages";  // no option of a prior has this name

struct PriorStages {
  std::vector<std::optional<Json>> options;  // complete, of each stage listed; nothing where it is left out
  // As the stage configuration has it (docs/formats/catalog.md): of each stage the options that differ from the prior's
  // own, or null; empty where nothing differs.
  Json differs = Json::array();
};

// Resolves the list. `given` and `resolved` are the prior's own options, as written and complete; `field` is that of the
// list. INVALID_ARGUMENT where an entry is neither options of the prior nor null, or all are null.
absl::StatusOr<PriorStages> resolve_prior_stages(const Catalog& catalog, const CatalogItem& item, const Json& given,
                                                 const Json& resolved, const Json& list, const std::string& field);

// For labels: "[curves=snake; same; left out]".
std::string show_prior_stages(const Json& differs);

}  // namespace locus

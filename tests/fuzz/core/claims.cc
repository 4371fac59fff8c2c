// The numbers that papers print: one paper, or the file of all of them.
#include "core/claims/claims.h"

#include "core/base/json_document.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void claims(std::string_view bytes) {
  const auto document = parse_json(std::string(bytes), ErrorReason::kInvalidArgument, "claims");
  if (!document.ok()) return;
  (void)parse_claims(*document);
  const auto paper = parse_paper(*document);
  if (!paper.ok()) return;
  for (const ClaimTable& table : paper->tables) {
    for (const ClaimValue& value : table.values) (void)baseline_of(*paper, table, value);
  }
}

}  // namespace locus::fuzz

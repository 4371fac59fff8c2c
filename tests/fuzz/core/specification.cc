// Specifications as the server gets them: JSON, checked and expanded against a catalog.
#include <fstream>

#include "core/base/json_document.h"
#include "core/experiment/plan/planner.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

Catalog catalog_of_tests() {
  std::ifstream in(LOCUS_TEST_CATALOG);
  return Catalog::parse(Json::parse(in)).value();
}

}  // namespace

void specification(std::string_view bytes) {
  static const Catalog kCatalog = catalog_of_tests();
  const auto document = parse_json(std::string(bytes), ErrorReason::kInvalidSpecification, "spec_json");
  if (!document.ok()) return;
  const auto plan = plan_experiment(*document, kCatalog);
  if (plan.ok()) return;
  const auto code = plan.status().code();
  require(code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kResourceExhausted,
          "a specification is refused as one");
}

}  // namespace locus::fuzz

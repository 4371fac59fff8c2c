// What a prior has otherwise in single stages of a backbone.
#include "core/experiment/plan/prior_stages.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/specification.h"

namespace locus {
namespace {

// The options of `other` that are not those of `own`; both are complete.
Json difference(const Json& own, const Json& other) {
  Json out = Json::object();
  for (const auto& [name, value] : other.items()) {
    if (own.value(name, Json()) != value) out[name] = value;
  }
  return out;
}

absl::StatusOr<std::optional<Json>> resolve_entry(const Catalog& catalog, const CatalogItem& item, const Json& given,
                                                  const Json& entry, const std::string& field) {
  if (entry.is_null()) return std::optional<Json>();
  LOCUS_RETURN_IF_ERROR(check_mapping(entry, field));
  Json laid_over = given;
  laid_over.update(entry);
  LOCUS_ASSIGN_OR_RETURN(Json resolved, catalog.resolve(item, laid_over, field));
  return std::optional<Json>(std::move(resolved));
}

}  // namespace

absl::StatusOr<PriorStages> resolve_prior_stages(const Catalog& catalog, const CatalogItem& item, const Json& given,
                                                 const Json& resolved, const Json& list, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_list(list, field));
  PriorStages out;
  Mistakes mistakes;
  for (std::size_t s = 0; s < list.size(); ++s) {
    if (auto one = mistakes.value(resolve_entry(catalog, item, given, list[s], indexed(field, s))))
      out.options.push_back(*std::move(one));
  }
  if (!mistakes.none()) return mistakes.status();
  if (std::none_of(out.options.begin(), out.options.end(), [](const auto& one) { return one.has_value(); })) {
    return refuse(ErrorReason::kInvalidSpecification,
                  field + " leaves the prior '" + item.id +
                      "' out of every stage; give an entry for each stage of the backbone, {} where nothing differs, "
                      "or take the prior out",
                  field);
  }
  bool any = false;
  for (const std::optional<Json>& options : out.options) {
    out.differs.push_back(options ? difference(resolved, *options) : Json());
    any |= !options || !out.differs.back().empty();
  }
  if (!any) out.differs = Json::array();
  return out;
}

std::string show_prior_stages(const Json& differs) {
  std::string out;
  for (const Json& stage : differs) {
    std::string text = stage.is_null() ? "left out" : stage.empty() ? "same" : "";
    for (const auto& [name, value] : stage.items()) text += (text.empty() ? "" : " ") + name + "=" + show_option(value);
    out += (out.empty() ? "" : "; ") + text;
  }
  return "[" + out + "]";
}

}  // namespace locus

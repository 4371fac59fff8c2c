// Looking items up in the catalog.
#include "core/catalog/catalog.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace locus {

const std::vector<Section>& sections_of_every() {
  static const std::vector<Section> list = {
#define LOCUS_SECTION(key, kind, id_path, member, initial) {#key, #kind, id_path, member, initial, "", ""},
#include "core/catalog/sections.def"
#undef LOCUS_SECTION
  };
  return list;
}

bool CatalogItem::has_option(std::string_view name) const {
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& option) { return option.name == name; });
}

const CatalogItem* Catalog::find(std::string_view kind, std::string_view id_or_alias) const {
  for (const CatalogItem& item : items_) {
    if (item.kind != kind) continue;
    if (item.id == id_or_alias) return &item;
    if (std::find(item.aliases.begin(), item.aliases.end(), id_or_alias) != item.aliases.end()) return &item;
  }
  return nullptr;
}

absl::StatusOr<const CatalogItem*> Catalog::get(std::string_view kind, std::string_view id,
                                                const std::string& field) const {
  if (const CatalogItem* item = find(kind, id)) return item;
  std::vector<std::string> known;
  std::string list;
  for (const CatalogItem& item : items_) {
    if (item.kind != kind) continue;
    known.push_back(item.id);
    known.insert(known.end(), item.aliases.begin(), item.aliases.end());
    list += (list.empty() ? "" : ", ") + item.id;
  }
  std::string message = "there is no " + std::string(kind) + " '" + std::string(id) + "'";
  std::map<std::string, std::string> metadata = {{"kind", std::string(kind)}, {"id", std::string(id)}};
  if (const auto nearest = nearest_name(id, known)) {
    message += "; did you mean '" + *nearest + "'?";
    metadata["nearest"] = *nearest;
  }
  message += message.ends_with('?') ? " (known: " + list + ")" : "; choose one of: " + list;
  const auto reason = kind == "prior" ? ErrorReason::kUnknownPrior : ErrorReason::kUnknownItem;
  return make_error(absl::StatusCode::kInvalidArgument, reason, std::move(message), field, std::move(metadata));
}

std::map<std::string, int> Catalog::revisions() const {
  std::map<std::string, int> out;
  for (const CatalogItem& item : items_) out[item.kind + "/" + item.id] = item.revision;
  return out;
}

}  // namespace locus

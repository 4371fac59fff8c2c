// Looks a misplaced key up among the options of the catalog.
#include "core/experiment/plan/hints.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/experiment/plan/specification.h"

namespace locus {
namespace {

struct Place {
  std::string path;  // "train.lr"
  std::string how;   // the sentence's end
};

std::optional<Place> place_of(const std::string& key, const Catalog& catalog) {
  const auto asks = [](const std::string& path) { return Place{path, "did you mean '" + path + "'?"}; };
  if (key == "seed" || key == "seeds")
    return Place{"replicates.seed", "seeds stand at replicates.seed, as in replicates: {seed: [0, 1, 2]}"};
  for (const Section& section : catalog.sections()) {
    if (section.id_path == section.key + "." + key) return asks(section.id_path);
  }
  for (const CatalogItem& item : catalog.items()) {
    if (!item.has_option(key)) continue;
    for (const Section& section : catalog.sections()) {
      if (item.kind == section.kind && section.key != section.id_path) return asks(section.key + "." + key);
    }
    const std::string written = "{" + item.id + ": {" + key + ": ...}}";
    if (item.kind == "stage") return Place{"stages", "it is an option of a stage, as in stages: [" + written + "]"};
    const auto of_kind = [&](const Section& section) { return section.kind == item.kind; };
    const auto section = std::find_if(catalog.sections().begin(), catalog.sections().end(), of_kind);
    return Place{section == catalog.sections().end() ? item.kind : section->key,
                 "it is an option of the " + item.kind + " '" + item.id + "', written " + written};
  }
  return std::nullopt;
}

}  // namespace

absl::Status with_place(const absl::Status& status, const Catalog& catalog) {
  auto detail = error_detail(status);
  if (!detail || detail->reason != ErrorReason::kUnknownKey || detail->metadata.contains("nearest")) return status;
  const bool factor = detail->metadata.contains("path");
  const std::string key = factor ? detail->metadata["path"] : detail->field;
  if (key.empty() || key.find_first_of(".[") != std::string::npos) return status;
  const auto place = place_of(key, catalog);
  if (!place) return status;
  detail->metadata["nearest"] = place->path;
  const std::string found =
      factor ? "there is no config path '" + key + "'; " : "the specification has no key '" + key + "'; ";
  return make_error(status.code(), detail->reason, found + place->how, detail->field, detail->metadata);
}

}  // namespace locus

// The look of cells.
#include "server/analysis/looks.h"

namespace locus::server {

Looks looks_of(const Outline& outline, const std::vector<CellRow>& cells) {
  std::map<std::string_view, std::int64_t> ordinals;
  for (const CellRow& cell : cells) ordinals[cell.row_key] = cell.ordinal;
  Looks out;
  for (const OutlineCell& cell : outline.cells) {
    const auto found = ordinals.find(cell.row_key);
    if (found != ordinals.end()) out[found->second] = cell.look;
  }
  return out;
}

Looks read_looks(Store& store, OutlineCache& outlines, const ExperimentRow& row) {
  const auto outline = outlines.get(row);
  const auto cells = store.cells(row.id);
  return outline.ok() && cells.ok() ? looks_of(**outline, *cells) : Looks{};
}

void to_proto(const Look& look, v1::CellLook* out) {
  out->set_hue(look.hue);
  out->set_variant(look.variant);
}

}  // namespace locus::server

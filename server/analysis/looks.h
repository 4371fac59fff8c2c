// The look of cells, by their ordinals, for whatever names cells.
#pragma once

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/common.pb.h"
#include "server/analysis/outline_cache.h"

namespace locus::server {

using Looks = std::map<std::int64_t, Look>;  // cells that the specification no longer has are not in it

// Pure.
Looks looks_of(const Outline& outline, const std::vector<CellRow>& cells);

// The same from the store. Blocks. Empty where the stored specification cannot be read: looks are no reason to fail.
Looks read_looks(Store& store, OutlineCache& outlines, const ExperimentRow& row);

void to_proto(const Look& look, v1::CellLook* out);

// Gives every item of a repeated field, each with a `cell`, its look.
template <class Items>
void give_looks(const Looks& looks, Items* items) {
  for (auto& item : *items) {
    const auto found = looks.find(item.cell());
    if (found != looks.end()) to_proto(found->second, item.mutable_look());
  }
}

}  // namespace locus::server

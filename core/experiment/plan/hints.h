// Where a key belongs that stands in the wrong place.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/catalog/catalog.h"

namespace locus {

// An UNKNOWN_KEY about a bare name ("lr" in the matrix) with the place the catalog knows for it ("train.lr");
// any other status as it is.
absl::Status with_place(const absl::Status& status, const Catalog& catalog);

}  // namespace locus

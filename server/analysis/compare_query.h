// Trials and cells side by side.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/analysis.pb.h"
#include "server/analysis/outline_cache.h"

namespace locus::server {

// Blocks. Thread-safe. INVALID_ARGUMENT for fewer than 2 or more than 16 items, one of another form, or a
// metric, split or labels that nobody knows.
absl::StatusOr<v1::Comparison> compare(Store& store, OutlineCache& outlines, const v1::CompareRequest& request);

}  // namespace locus::server

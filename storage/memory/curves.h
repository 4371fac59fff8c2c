// Curves out of the tables in memory.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "storage/memory/tables.h"

namespace locus {

// The row with the number of its points, superseded included.
SeriesRow counted(const MemoryTables& tables, SeriesRow row);

// The points of a series within the range that are not superseded, in the order they came.
absl::StatusOr<SeriesPoints> live_points(const MemoryTables& tables, StageId id, const SeriesKey& key,
                                         StepRange range);

}  // namespace locus

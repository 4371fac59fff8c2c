// Curves out of the tables in memory.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "storage/memory/tables.h"

namespace locus {

// The row with the number of its points, superseded included.
SeriesRow counted(const MemoryTables& tables, SeriesRow row);

// As Store::points and Store::blocks.
absl::StatusOr<SeriesPoints> draw_points(const MemoryTables& tables, StageId id, const SeriesKey& key, int max_points,
                                         StepRange range);
absl::StatusOr<std::vector<SeriesBlock>> sum_blocks(const MemoryTables& tables, StageId id, const SeriesKey& key,
                                                    int shift, StepRange range);

}  // namespace locus

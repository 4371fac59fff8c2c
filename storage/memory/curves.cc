// Curves out of the tables in memory.
#include "storage/memory/curves.h"

#include <algorithm>

#include "storage/rules/curve.h"
#include "storage/rules/refusals.h"

namespace locus {

SeriesRow counted(const MemoryTables& tables, SeriesRow row) {
  for (const AttemptRow& attempt : tables.attempts_of(row.stage_id)) {
    const auto points = tables.points.find({row.stage_id, attempt.number});
    if (points == tables.points.end()) continue;
    row.points += std::count_if(points->second.begin(), points->second.end(),
                                [&](const StoredPoint& point) { return point.series_id == row.id; });
  }
  return row;
}

absl::StatusOr<SeriesPoints> live_points(const MemoryTables& tables, StageId id, const SeriesKey& key,
                                         StepRange range) {
  if (!tables.stages.contains(id)) return refusal::stage_not_found(id);
  const std::int64_t* series_id = tables.series_ids.find({id, key});
  if (!series_id) return refusal::series_not_found(id, key);
  SeriesPoints out;
  out.series = counted(tables, *tables.series_rows.find(*series_id));
  for (const auto& [number, bound] : live_until(tables.attempts_of(id))) {
    const auto stored = tables.points.find({id, number});
    if (stored == tables.points.end()) continue;
    for (const auto& [series, point] : stored->second) {
      if (series == *series_id && point.step <= bound && range.contains(point.step))
        out.points.push_back(point);
    }
  }
  return out;
}

}  // namespace locus

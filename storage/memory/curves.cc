// Curves out of the tables in memory.
#include "storage/memory/curves.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
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

namespace {

// The points of a series within the range that are not superseded, in the order they came.
absl::StatusOr<SeriesPoints> live_points(const MemoryTables& tables, StageId id, const SeriesKey& key,
                                         StepRange range) {
  if (!tables.stages.contains(id)) return refusal::stage_not_found(id);
  const std::int64_t* series_id = tables.series_ids.find({id, key});
  if (!series_id) return refusal::series_not_found(id, key);
  SeriesPoints out;
  out.series = counted(tables, *tables.series_rows.find(*series_id));
  for (const auto& [attempt, bound] : live_until(tables.attempts_of(id))) {
    const auto stored = tables.points.find({id, attempt});
    if (stored == tables.points.end()) continue;
    for (const auto& [series, point] : stored->second) {
      if (series == *series_id && point.step <= bound && range.contains(point.step)) out.points.push_back(point);
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<SeriesPoints> draw_points(const MemoryTables& tables, StageId id, const SeriesKey& key, int max_points,
                                         StepRange range) {
  LOCUS_ASSIGN_OR_RETURN(SeriesPoints out, live_points(tables, id, key, range));
  sort_by_step(out.points);
  auto kept = reduce_points(out.points, max_points);
  out.reduced = kept.size() < out.points.size();
  out.points = std::move(kept);
  return out;
}

absl::StatusOr<std::vector<SeriesBlock>> sum_blocks(const MemoryTables& tables, StageId id, const SeriesKey& key,
                                                    int shift, StepRange range) {
  LOCUS_RETURN_IF_ERROR(check_shift(shift));
  LOCUS_ASSIGN_OR_RETURN(const SeriesPoints found, live_points(tables, id, key, range));
  BlockCollector collector(shift);
  for (const Point& point : found.points) collector.add(point);
  return collector.take();
}

}  // namespace locus

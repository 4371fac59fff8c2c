// Appending points: what every store must check.
#include <map>
#include <set>
#include <vector>

#include "core/limits.h"
#include "storage/rules/refusals.h"
#include "storage/rules/writes.h"

namespace locus {
namespace {

using refusal::invalid;

absl::Status check_columns(const PointAppend& append) {
  const PointBatch& p = append.points;
  const std::size_t n = p.size();
  if (p.series_index.size() != n || p.step.size() != n || p.epoch.size() != n || p.images.size() != n ||
      p.time_us.size() != n) {
    return invalid("the columns of a point batch must be equally long: " + std::to_string(n) + " values, " +
                       std::to_string(p.step.size()) + " steps, " + std::to_string(p.series_index.size()) + " series",
                   "points");
  }
  if (append.first_seq < 1) {
    return invalid("sequences start at 1, not " + std::to_string(append.first_seq), "first_seq");
  }
  if (n > static_cast<std::size_t>(kPointsPerBatch)) {
    return refusal::limit_exceeded("a batch of " + std::to_string(n) + " points is more than " +
                                   std::to_string(kPointsPerBatch) + ": send smaller ones");
  }
  for (const std::uint32_t index : p.series_index) {
    if (index >= p.series.size()) {
      return invalid("a point names series " + std::to_string(index) + " of " + std::to_string(p.series.size()),
                     "points.series_index");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::int64_t> append_points(Rows& rows, const PointAppend& append, std::size_t* stored) {
  *stored = 0;
  LOCUS_RETURN_IF_ERROR(check_columns(append));
  const auto stage = rows.stage(append.stage_id);
  if (!stage) return refusal::stage_not_found(append.stage_id);
  if (stage->state != StageState::kRunning || stage->attempt != append.attempt) {
    return refusal::stale_attempt(*stage, append.attempt, "append points to");
  }
  const auto attempt = rows.attempt(append.stage_id, append.attempt);
  const std::int64_t expected = attempt->acked_seq + 1;
  if (append.first_seq > expected) {
    return refusal::sequence_gap(append.stage_id, append.attempt, append.first_seq, expected);
  }
  const PointBatch& points = append.points;
  const auto skip = static_cast<std::size_t>(expected - append.first_seq);
  if (skip >= points.size()) return attempt->acked_seq;

  std::vector<bool> used(points.series.size());  // by the points that are new
  for (std::size_t i = skip; i < points.size(); ++i) used[points.series_index[i]] = true;
  std::vector<std::int64_t> ids(points.series.size(), 0);
  std::set<SeriesKey> fresh;
  for (std::size_t s = 0; s < ids.size(); ++s) {
    if (!used[s]) continue;
    if (const auto id = rows.series(append.stage_id, points.series[s])) {
      ids[s] = *id;
    } else {
      fresh.insert(points.series[s]);
    }
  }
  if (!fresh.empty()) {
    if (rows.series_count(append.stage_id) + static_cast<std::int64_t>(fresh.size()) > kSeriesPerStage) {
      return refusal::limit_exceeded("stage " + std::to_string(append.stage_id) + " would have more than " +
                                     std::to_string(kSeriesPerStage) + " series");
    }
    std::map<SeriesKey, std::int64_t> made;
    for (const SeriesKey& key : fresh) made[key] = rows.insert_series(append.stage_id, key);
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (used[s] && ids[s] == 0) ids[s] = made.at(points.series[s]);
    }
  }
  rows.store_points(*attempt, append.first_seq, points, skip, ids);
  *stored = points.size() - skip;
  return append.first_seq + static_cast<std::int64_t>(points.size()) - 1;
}

}  // namespace locus

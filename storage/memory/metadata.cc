// The tables of annotations, samples, alerts and the series of other programs as maps.
#include <algorithm>
#include <limits>

#include "storage/memory/tables.h"
#include "storage/rules/metadata.h"

namespace locus {
namespace {}  // namespace

Annotation MemoryTables::annotation(ExperimentId experiment, std::int64_t trial) {
  const Annotation* row = annotations.find({experiment, trial});
  return row ? *row : Annotation();
}

void MemoryTables::put_annotation(ExperimentId experiment, std::int64_t trial, const Annotation& row) {
  if (row.empty()) return annotations.erase({experiment, trial});
  annotations.put({experiment, trial}, row);
}

std::optional<WorkerId> MemoryTables::worker_of_session(const std::string& session) {
  for (const auto& [id, row] : workers.rows()) {
    if (row.session == session) return id;
  }
  return std::nullopt;
}

std::vector<Microseconds> MemoryTables::sample_times(StageId id, std::int64_t attempt) {
  std::vector<Microseconds> out;
  const auto& rows = samples.rows();
  for (auto at = rows.lower_bound({id, attempt, kFirst}); at != rows.end(); ++at) {
    if (std::get<0>(at->first) != id || std::get<1>(at->first) != attempt) break;
    out.push_back(std::get<2>(at->first));
  }
  return out;
}

void MemoryTables::put_sample(StageId id, std::int64_t attempt, const SystemSample& sample) {
  samples.put({id, attempt, sample.time_us}, sample);
}

void MemoryTables::erase_sample(StageId id, std::int64_t attempt, Microseconds time_us) {
  samples.erase({id, attempt, time_us});
}

void MemoryTables::put_worker_sample(WorkerId id, const SystemSample& sample) {
  worker_samples.put({id, sample.time_us}, sample);
}

void MemoryTables::erase_worker_samples(WorkerId id, Microseconds before) {
  std::vector<std::pair<WorkerId, Microseconds>> gone;
  const auto& rows = worker_samples.rows();
  for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first < std::pair(id, before); ++at)
    gone.push_back(at->first);
  for (const auto& key : gone) worker_samples.erase(key);
}

void MemoryTables::put_alert(const AlertRow& row) { alerts.put(row.experiment, row); }

void MemoryTables::erase_alerts() {
  while (!alerts.rows().empty()) alerts.erase(alerts.rows().begin()->first);
}

std::map<std::int64_t, Annotation> MemoryTables::annotations_of(ExperimentId id) const {
  std::map<std::int64_t, Annotation> out;
  const auto& rows = annotations.rows();
  for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first.first == id; ++at)
    out[at->first.second] = at->second;
  return out;
}

std::set<std::string> MemoryTables::foreign_digests(ExperimentId experiment) {
  std::set<std::string> out;
  const auto& rows = foreign_imports.rows();
  for (auto at = rows.lower_bound({experiment, ""}); at != rows.end() && at->first.first == experiment; ++at)
    out.insert(at->first.second);
  return out;
}

void MemoryTables::put_foreign(ExperimentId experiment, const ForeignImport& row) {
  ForeignImport kept = row;
  std::ranges::sort(kept.series, {}, &ForeignSeries::key);
  foreign_imports.put({experiment, row.digest}, std::move(kept));
}

void MemoryTables::erase_foreign(ExperimentId experiment, const std::string& digest) {
  foreign_imports.erase({experiment, digest});
}

std::vector<ForeignImport> MemoryTables::foreign_of(ExperimentId id, const ForeignQuery& query) const {
  std::vector<ForeignImport> out;
  for (const auto& [key, stored] : foreign_imports.rows()) {
    if (key.first != id || (!query.digest.empty() && key.second != query.digest)) continue;
    ForeignImport row = stored;
    std::erase_if(row.series, [&](const ForeignSeries& one) { return query.key && one.key != *query.key; });
    for (ForeignSeries& series : row.series) {
      if (!query.with_points) series.step = {}, series.time_us = {}, series.value = {};
      thin(&series, query.max_points);
    }
    if (!row.series.empty()) out.push_back(std::move(row));
  }
  return out;
}

std::vector<AttemptSample> MemoryTables::samples_of(StageId id) const {
  std::vector<AttemptSample> out;
  const auto& rows = samples.rows();
  for (auto at = rows.lower_bound({id, kFirst, kFirst}); at != rows.end() && std::get<0>(at->first) == id; ++at)
    out.push_back({std::get<1>(at->first), at->second});
  return out;
}

std::vector<SystemSample> MemoryTables::samples_of_worker(WorkerId id) const {
  std::vector<SystemSample> out;
  const auto& rows = worker_samples.rows();
  for (auto at = rows.lower_bound({id, kFirst}); at != rows.end() && at->first.first == id; ++at)
    out.push_back(at->second);
  return out;
}

void MemoryTables::erase_metadata_of(ExperimentId id) {
  for (const auto& [trial, row] : annotations_of(id)) annotations.erase({id, trial});
  for (const std::string& digest : foreign_digests(id)) erase_foreign(id, digest);
  alerts.erase(id);
}

void MemoryTables::erase_samples(StageId id, std::int64_t attempt) {
  for (const Microseconds time : sample_times(id, attempt)) samples.erase({id, attempt, time});
}

}  // namespace locus

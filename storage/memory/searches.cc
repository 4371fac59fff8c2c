// The tables of searches, their logs and stop points as maps.
#include <algorithm>
#include <limits>

#include "storage/memory/tables.h"

namespace locus {

std::map<std::string, std::int64_t> MemoryTables::positions(ExperimentId experiment, std::int64_t trial) {
  std::map<std::string, std::int64_t> out;
  const auto& rows = links.rows();
  for (auto at = rows.lower_bound({experiment, trial, ""}); at != rows.end(); ++at) {
    const auto& [in_experiment, in_trial, role] = at->first;
    if (in_experiment != experiment || in_trial != trial) break;
    out[role] = at->second.position;
  }
  return out;
}

std::optional<SearchRow> MemoryTables::search(ExperimentId id) {
  const SearchRow* row = searches.find(id);
  return row ? std::optional(*row) : std::nullopt;
}

void MemoryTables::put_search(const SearchRow& row) { searches.put(row.experiment_id, row); }

void MemoryTables::put_decision(ExperimentId id, const DecisionRow& row) {
  const Ordinal key{id, row.number};
  decisions.put(key, row);
  if (!row.request_id.empty()) decisions_by_request.put(row.request_id, key);
}

bool MemoryTables::has_decision_of_request(const std::string& request_id) {
  return decisions_by_request.contains(request_id);
}

std::vector<std::int64_t> MemoryTables::live_wants(StageId id) {
  std::vector<std::int64_t> out;
  const auto references = references_among([&](StageId stage) { return stage == id; });
  for (const StageReference& reference : references) out.push_back(reference.until_step);
  return out;
}

int MemoryTables::erase_decisions(ExperimentId id, int limit) {
  int gone = 0;
  for (; gone < limit; ++gone) {
    const auto end = decisions.rows().lower_bound({id + 1, kFirst});
    if (end == decisions.rows().begin() || std::prev(end)->first.first != id) break;
    const auto [key, row] = *std::prev(end);
    if (!row.request_id.empty()) decisions_by_request.erase(row.request_id);
    decisions.erase(key);
  }
  return gone;
}

std::vector<SearchRow> MemoryTables::running_searches() const {
  std::vector<SearchRow> out;
  for (const auto& [id, row] : searches.rows()) {
    if (row.state == SearchState::kRunning && experiments.contains(id)) out.push_back(row);
  }
  return out;
}

std::vector<DecisionRow> MemoryTables::decisions_of(ExperimentId id, std::int64_t after, int limit) const {
  const auto most = limit > 0 ? static_cast<std::size_t>(limit) : std::numeric_limits<std::size_t>::max();
  std::vector<DecisionRow> out;
  const auto& rows = decisions.rows();
  for (auto at = rows.upper_bound({id, after}); at != rows.end() && at->first.first == id && out.size() < most; ++at)
    out.push_back(at->second);
  return out;
}

}  // namespace locus

// Reads proposals back from cells.
#include "core/experiment/plan/proposed.h"

#include <set>

namespace locus {
namespace {

constexpr char kPhaseKey[] = "$phase";

bool of_phase(const CellRow& cell, const std::string& phase) {
  const Json key = Json::parse(cell.row_key, nullptr, /*allow_exceptions=*/false);
  return key.is_object() && key.contains(kPhaseKey) && key.at(kPhaseKey) == phase;
}

ProposedCells proposals_of(const Search& search, std::span<const CellRow> cells, const std::string* phase) {
  ProposedCells out;
  std::set<std::string> seen;
  for (const CellRow& cell : cells) {
    const Json assignment = Json::parse(cell.assignment_json, nullptr, /*allow_exceptions=*/false);
    if (!assignment.is_object() || (phase != nullptr && !of_phase(cell, *phase))) continue;
    std::map<std::string, Json> values;
    for (const Dimension& dimension : search.space) {
      if (assignment.contains(dimension.path)) values[dimension.path] = assignment.at(dimension.path);
    }
    if (values.size() == search.space.size() && seen.insert(canonical_json(Json(values))).second)
      out.push_back(std::move(values));
  }
  return out;
}

}  // namespace

std::string phase_row_key(const std::string& row_key, const std::string& phase) {
  Json key = Json::parse(row_key, nullptr, /*allow_exceptions=*/false);
  if (key.is_object()) key[kPhaseKey] = phase;
  return canonical_json(key);
}

PhaseProposals proposed_of(const std::vector<PlannedPhase>& phases, std::span<const CellRow> cells) {
  PhaseProposals out;
  for (const PlannedPhase& phase : phases) {
    if (!phase.plan.search || phase.plan.search->search.proposer != Proposer::kExternal) continue;
    ProposedCells proposed = proposals_of(phase.plan.search->search, cells, phases.size() > 1 ? &phase.name : nullptr);
    if (!proposed.empty()) out.emplace(phase.name, std::move(proposed));
  }
  return out;
}

}  // namespace locus

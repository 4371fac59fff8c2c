// What clients and people decide themselves.
#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/conduct/turn.h"

namespace locus {
namespace {

absl::Status exhausted(const std::string& why) {
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kSearchExhausted, why);
}

}  // namespace

// Gives what a proposal adds its place among what is stored.
absl::Status ConductorTurn::number(const SearchWish& wish, ProposeDecision& propose) {
  const SearchSetup& setup = fold_.setup(static_cast<std::size_t>(phase()));
  LOCUS_ASSIGN_OR_RETURN(const auto stored, store_.cells(row_.id));
  std::map<std::string, std::int64_t> cells;                             // by row key
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> trials;  // by cell and seed
  std::int64_t next_cell = 0, next_trial = 0, next_proposal = 0;
  for (const CellRow& cell : stored) {
    cells[cell.row_key] = cell.ordinal;
    next_cell = std::max(next_cell, cell.ordinal + 1);
  }
  for (const auto& [ordinal, view] : trials_) {
    trials[{view.trial.cell, view.trial.seed}] = ordinal;
    next_trial = std::max(next_trial, ordinal + 1);
  }
  std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::int64_t> units;  // by cell and trials
  for (const SearchUnitRow& unit : setup.units) {
    units.try_emplace({unit.cell, unit.trials}, static_cast<std::int64_t>(units.size()));
    next_proposal = std::max(next_proposal, unit.proposal + 1);
  }
  std::vector<std::int64_t> cell_of, trial_of;
  for (CellRow cell : wish.cells) {
    const auto [known, fresh] = cells.try_emplace(cell.row_key, next_cell);
    cell_of.push_back(known->second);
    if (!fresh) continue;
    cell.ordinal = next_cell++;
    cells_.push_back(std::move(cell));
  }
  for (TrialRow trial : wish.trials) {
    trial.cell = cell_of.at(static_cast<std::size_t>(trial.cell));
    const auto [known, fresh] = trials.try_emplace({trial.cell, trial.seed}, next_trial);
    trial_of.push_back(known->second);
    if (!fresh) continue;
    trial.ordinal = next_trial++;
    added_.push_back(trial);
  }
  std::map<std::int64_t, std::int64_t> proposals;  // as the wish counts them -> of the search
  std::vector<SearchUnitRow> added;
  std::vector<std::int64_t> unit_of;  // what the wish counts -> of the phase; -1: was there
  propose.units.clear();
  for (SearchUnitRow unit : propose.added) {
    unit.cell = cell_of.at(static_cast<std::size_t>(unit.cell));
    for (std::int64_t& trial : unit.trials) trial = trial_of.at(static_cast<std::size_t>(trial));
    for (auto& rung : unit.later_rungs) {
      for (std::int64_t& trial : rung) trial = trial_of.at(static_cast<std::size_t>(trial));
    }
    const auto next = static_cast<std::int64_t>(setup.units.size() + added.size());
    const auto [known, fresh] = units.try_emplace({unit.cell, unit.trials}, next);
    const bool named = std::find(propose.units.begin(), propose.units.end(), known->second) != propose.units.end();
    if (!named) propose.units.push_back(known->second);
    unit_of.push_back(fresh ? known->second : -1);
    if (!fresh) continue;
    unit.proposal = proposals.try_emplace(unit.proposal, next_proposal + std::ssize(proposals)).first->second;
    added.push_back(std::move(unit));
  }
  propose.added = std::move(added);
  for (SearchChoiceGroup& group : propose.choices) {
    for (SearchCandidate& one : group.candidates) {
      for (std::int64_t& unit : one.units) unit = unit_of.at(static_cast<std::size_t>(unit));
      std::erase(one.units, -1);
    }
    std::erase_if(group.candidates, [](const SearchCandidate& one) { return one.units.empty(); });
  }
  std::erase_if(propose.choices, [](const SearchChoiceGroup& group) { return group.candidates.empty(); });
  return absl::OkStatus();
}

// Whether `parallel`, the number of proposals and the budget leave room for what is new.
absl::Status ConductorTurn::check_room(const ProposeDecision& propose) {
  const auto place = static_cast<std::size_t>(phase());
  const Search& search = fold_.setup(place).search;
  if (fold_.phase_ended(place)) return exhausted("the search has ended: " + fold_.reason(place));
  std::set<std::int64_t> fresh, known, unfinished;
  for (const SearchUnitRow& unit : propose.added) fresh.insert(unit.proposal);
  const auto& rows = fold_.setup(place).units;
  const auto& units = fold_.units(place);
  for (std::size_t i = 0; i < units.size() && i < rows.size(); ++i) {
    known.insert(rows[i].proposal);
    if (units[i].state == UnitState::kRunning || units[i].state == UnitState::kWaiting)
      unfinished.insert(rows[i].proposal);
  }
  if (fresh.empty()) return absl::OkStatus();
  if (search.parallel > 0 && std::ssize(unfinished) + std::ssize(fresh) > search.parallel) {
    return exhausted(std::to_string(fresh.size()) + " proposals come to " + std::to_string(unfinished.size()) +
                     " unfinished ones, and parallel allows " + std::to_string(search.parallel) +
                     "; wait for one to end");
  }
  std::int64_t most = search.proposals;
  if (search.budget.proposals && (most == 0 || *search.budget.proposals < most)) most = *search.budget.proposals;
  if (most > 0 && std::ssize(known) + std::ssize(fresh) > most) {
    return exhausted("the search takes " + std::to_string(most) + " proposals and has " + std::to_string(known.size()) +
                     "; raise search.proposals to go on");
  }
  const Fold::Spent spent = fold_.spent(place);
  if ((search.budget.stages && spent.stages >= *search.budget.stages) ||
      (search.budget.epochs && spent.epochs >= *search.budget.epochs))
    return exhausted("the search has spent its budget; raise search.budget to go on");
  return absl::OkStatus();
}

absl::Status ConductorTurn::take(const SearchWish& wish) {
  SearchDecision decision = wish.decision;
  if (auto* propose = std::get_if<ProposeDecision>(&decision)) {
    if (fold_.setup(static_cast<std::size_t>(phase())).search.proposer != Proposer::kExternal) {
      return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                        "the search of experiment " + row_.name +
                            " draws its own proposals; write propose: external to have them come from a client");
    }
    LOCUS_RETURN_IF_ERROR(load_trials());
    LOCUS_RETURN_IF_ERROR(number(wish, *propose));
    LOCUS_RETURN_IF_ERROR(check_room(*propose));
  }
  DecisionRow row = written(decision);
  row.generation = 0;
  row.phase = phase();
  row.principal = wish.principal;
  row.request_id = wish.request_id;
  return append(decision, std::move(row));
}

}  // namespace locus

// What begins when a specification is submitted, extended or replaced.
#include <algorithm>
#include <set>

#include "core/conduct/conduct.h"

namespace locus {
namespace {

// What a log cannot outlive the change of. How many units there are, and what they may cost, it can.
std::string rules_of(SearchSetup setup) {
  setup.units.clear();
  setup.groups.clear();
  setup.search.proposals = 0;
  setup.search.parallel = 0;
  setup.search.budget = {};
  if (setup.choose) setup.choose->groups.clear();
  return canonical_json(setup_json(setup));
}

// Whether every unit and group of the former setup is where it was, with all of its trials.
bool holds(const SearchSetup& now, const SearchSetup& former) {
  if (now.groups.size() < former.groups.size() ||
      !std::equal(former.groups.begin(), former.groups.end(), now.groups.begin()))
    return false;
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> known;  // of a cell, its first trial
  for (const SearchUnitRow& unit : now.units) {
    if (!unit.trials.empty()) known[{unit.cell, unit.trials.front()}].insert(unit.trials.begin(), unit.trials.end());
  }
  return std::all_of(former.units.begin(), former.units.end(), [&](const SearchUnitRow& unit) {
    const auto found = unit.trials.empty() ? known.end() : known.find({unit.cell, unit.trials.front()});
    return found != known.end() && std::all_of(unit.trials.begin(), unit.trials.end(),
                                               [&](std::int64_t trial) { return found->second.contains(trial); });
  });
}

DecisionRow begin_row(const SearchSetup& setup, std::int64_t generation, std::size_t phase) {
  DecisionRow row = written(BeginDecision{setup});
  row.generation = generation;
  row.phase = static_cast<std::int64_t>(phase);
  return row;
}

}  // namespace

std::vector<DecisionRow> begins(const Fold& fold, std::span<const SearchSetup> setups, bool anew) {
  if (setups.empty()) return {};
  const std::size_t begun = std::min(fold.phases(), setups.size());
  if (fold.phases() == 0) return {begin_row(setups.front(), 1, 0)};
  std::vector<DecisionRow> out;
  for (std::size_t phase = 0; phase < begun && !anew; ++phase) {
    const SearchSetup& former = fold.setup(phase);
    const SearchSetup& now = setups[phase];
    if (setup_json(former) == setup_json(now)) continue;
    anew = rules_of(former) != rules_of(now) || !holds(now, former);
    out.push_back(begin_row(now, fold.generation(), phase));
  }
  if (anew) return {begin_row(setups.front(), fold.generation() + 1, 0)};
  return out;
}

}  // namespace locus

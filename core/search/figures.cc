// Counts what a search will run.
#include "core/search/figures.h"

#include <algorithm>
#include <numeric>

namespace locus {
namespace {

using Counts = std::vector<RungCount>;

std::int64_t shared_out(std::int64_t units, Share keep) {
  return units == 0 ? 0 : std::max<std::int64_t>(1, units * keep.numerator / keep.denominator);
}

// Of one group under the rules that wait.
Counts halving_counts(const std::vector<std::int64_t>& rungs, std::int64_t units, Share keep) {
  Counts out;
  for (const std::int64_t rung : rungs) {
    out.push_back({rung, units, units});
    units = shared_out(units, keep);
  }
  return out;
}

// A rung that n have reached has sent up floor(n / eta) in the end, and at most one more than that with each arrival from the
// eta-th on: every arrival changes the best floor(n / eta) by one at most.
Counts parking_counts(const std::vector<std::int64_t>& rungs, std::int64_t units, std::int64_t eta) {
  Counts out;
  std::int64_t least = units, most = units;
  for (const std::int64_t rung : rungs) {
    out.push_back({rung, least, most});
    least /= eta;
    most = std::max<std::int64_t>(0, most - eta + 1);
  }
  return out;
}

// Without parking the first to arrive always goes on, and all do that come in order of rank.
Counts stopping_counts(const std::vector<std::int64_t>& rungs, std::int64_t units) {
  Counts out;
  std::int64_t least = units;
  for (const std::int64_t rung : rungs) {
    out.push_back({rung, least, units});
    least = std::min<std::int64_t>(least, 1);
  }
  return out;
}

// The rounds of sequential halving as rungs of seeds.
Counts round_counts(std::int64_t budget, std::int64_t candidates) {
  Counts out;
  std::int64_t seeds = 0;
  for (std::int64_t live = candidates; live > 1; live = (live + 1) / 2) {
    seeds += seeds_of_round(budget, candidates, live);
    out.push_back({seeds, live, live});
  }
  return out;
}

Counts race_counts(const RaceTerms& race, std::int64_t candidates) {
  if (race.rule == RaceRule::kHalving && candidates > 1) return round_counts(race.budget, candidates);
  if (race.rule == RaceRule::kHalving) return {{race.terms.first, candidates, candidates}};
  return {{race.terms.first, candidates, candidates}, {race.most, 0, candidates}};
}

// Of one group, a list for each bracket.
std::vector<Counts> counts_of(const Search& search, std::int64_t units, double epochs) {
  const Advance& advance = search.advance;
  switch (advance.rule) {
    case AdvanceRule::kNone:
      return {{{static_cast<std::int64_t>(epochs), units, units}}};
    case AdvanceRule::kHalve:
      return {halving_counts(advance.rungs, units, advance.keep)};
    case AdvanceRule::kAsha:
      return {advance.park ? parking_counts(advance.rungs, units, advance.eta) : stopping_counts(advance.rungs, units)};
    case AdvanceRule::kHyperband:
      break;
    case AdvanceRule::kRace:
      return {race_counts(advance.race, units)};
  }
  std::vector<Counts> out;
  for (const Bracket& bracket : advance.brackets) {
    const std::int64_t begun = std::min(units, bracket.units.front());
    units -= begun;
    out.push_back(halving_counts(bracket.rungs, begun, {1, advance.eta}));
  }
  return out;
}

bool counts_seeds(const Advance& advance) {
  return advance.rule == AdvanceRule::kRace ||
         (advance.rule != AdvanceRule::kNone && advance.resource == SearchResource::kSeeds);
}

// The epoch before which no rule stops anything.
double first_stop(const StopRule& stop, double validate_every) {
  if (const auto* median = std::get_if<MedianRule>(&stop.rule))
    return std::max(static_cast<double>(median->from), validate_every);
  if (const auto* threshold = std::get_if<ThresholdRule>(&stop.rule)) return static_cast<double>(threshold->at);
  return static_cast<double>(std::get<PatienceRule>(stop.rule).validations + 1) * validate_every;
}

double first_stop(const Search& search, const SearchSize& size) {
  double out = size.epochs;
  for (const StopRule& stop : search.stops) out = std::min(out, first_stop(stop, size.validate_every));
  return out;
}

// Adds what the rungs of one group cost; `weight`: trainings of a unit.
void add_costs(const Search& search, const SearchSize& size, const Counts& counts, std::int64_t weight,
               SearchFigures& out) {
  const bool of_seeds = counts_seeds(search.advance), anew = search.horizon == SearchHorizon::kRung;
  std::int64_t before = 0;
  for (const RungCount& one : counts) {
    const std::int64_t step = anew && !of_seeds ? one.rung : one.rung - before;
    if (of_seeds) {
      out.least_trainings += one.least * step;
      out.most_trainings += one.most * step;
      out.least_epochs += static_cast<double>(one.least * step) * size.epochs;
      out.most_epochs += static_cast<double>(one.most * step) * size.epochs;
    } else {
      const bool begins = before == 0 || anew;
      out.least_trainings += begins ? one.least * weight : 0;
      out.most_trainings += begins ? one.most * weight : 0;
      out.least_epochs += static_cast<double>(one.least * step * weight);
      out.most_epochs += static_cast<double>(one.most * step * weight);
    }
    before = one.rung;
  }
}

// Where a stopping rule may end everything at its first look, and what a budget may end sooner.
void lower(const Search& search, const SearchSize& size, std::int64_t weight, SearchFigures& out) {
  if (!search.stops.empty() && !counts_seeds(search.advance)) {
    const double stop = first_stop(search, size);
    out.least_epochs = 0;
    out.least_trainings = out.units * weight;
    for (auto& bracket : out.brackets) {
      if (bracket.empty()) continue;
      const double first = std::min(stop, static_cast<double>(bracket.front().rung));
      out.least_epochs += static_cast<double>(bracket.front().least * weight) * first;
      for (std::size_t i = 1; i < bracket.size(); ++i) bracket[i].least = 0;
    }
  }
  if (search.budget.empty()) return;
  const FirstJudged first = first_judged(search, size);
  const bool any_time = search.budget.target || search.budget.slot_hours;
  const SearchBudget& budget = search.budget;
  const double epochs = any_time ? first.epochs : budget.epochs.value_or(out.least_epochs);
  const std::int64_t trainings = any_time ? first.trainings : budget.stages.value_or(out.least_trainings);
  if (epochs < out.least_epochs || trainings < out.least_trainings) {
    out.least_epochs = std::min(out.least_epochs, std::max(epochs, first.epochs));
    out.least_trainings = std::min(out.least_trainings, std::max(trainings, first.trainings));
    // Either bound alone ends the search, with as little of the other as the first unit costs.
    if (!any_time && budget.epochs && !budget.stages) out.least_trainings = first.trainings;
    if (!any_time && budget.stages && !budget.epochs) out.least_epochs = first.epochs;
  }
}

// Of what waits at a rung, the whole of a bracket's first; of what was stopped or waits for a place, everything there is.
std::int64_t parked_units(const Search& search, const std::vector<std::vector<RungCount>>& brackets,
                          std::int64_t units) {
  const bool goes_on = search.advance.rule != AdvanceRule::kNone;
  if (counts_seeds(search.advance) || search.horizon == SearchHorizon::kRung) return 0;
  if (!search.stops.empty() || search.advance.rule == AdvanceRule::kAsha) return units;
  std::int64_t out = 0;
  for (const auto& bracket : brackets) {
    if (goes_on && bracket.size() > 1) out = std::max(out, bracket.front().most);
  }
  return out;
}

}  // namespace

SearchFigures figures_of(const Search& search, const SearchSize& size) {
  SearchFigures out;
  const bool cells = search.advance.unit == SearchUnit::kCell;
  const std::int64_t weight = cells ? size.seeds : 1;
  for (const std::int64_t group : size.cells) {
    const std::int64_t units = cells ? group : group * size.seeds;
    out.units += units;
    const std::vector<Counts> counts = counts_of(search, units, size.epochs);
    out.brackets.resize(std::max(out.brackets.size(), counts.size()));
    for (std::size_t b = 0; b < counts.size(); ++b) {
      add_costs(search, size, counts[b], weight, out);
      auto& sum = out.brackets[b];
      for (std::size_t r = 0; r < counts[b].size(); ++r) {
        if (sum.size() <= r) sum.push_back({counts[b][r].rung, 0, 0});
        sum[r].rung = std::max(sum[r].rung, counts[b][r].rung);
        sum[r].least += counts[b][r].least;
        sum[r].most += counts[b][r].most;
      }
    }
  }
  out.parked = parked_units(search, out.brackets, out.units) * weight;
  lower(search, size, weight, out);
  return out;
}

FirstJudged first_judged(const Search& search, const SearchSize& size) {
  const Advance& advance = search.advance;
  const std::int64_t weight = advance.unit == SearchUnit::kCell ? size.seeds : 1;
  if (counts_seeds(advance)) {
    std::int64_t seeds = advance.race.terms.first;
    if (advance.rule != AdvanceRule::kRace) seeds = advance.rungs.front();
    return {seeds, static_cast<double>(seeds) * size.epochs};
  }
  double epochs = first_stop(search, size);
  if (!advance.rungs.empty()) epochs = std::min(epochs, static_cast<double>(advance.rungs.front()));
  for (const Bracket& bracket : advance.brackets) epochs = std::min(epochs, static_cast<double>(bracket.rungs.front()));
  return {weight, static_cast<double>(weight) * epochs};
}

}  // namespace locus

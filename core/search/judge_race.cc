// Races over seeds: all live candidates of a group get the same seeds.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/search/judge_rules.h"
#include "core/search/race_tests.h"

namespace locus {
namespace {

// By seed, as far as they are known; what has no finite value is NaN, and what a unit's seeds have given so far nothing else.
std::vector<double> values_of(const PhaseCourse& phase, std::int64_t unit) {
  std::vector<double> out;
  for (const std::int64_t trial : phase.granted(unit, phase.units[static_cast<std::size_t>(unit)].rung)) {
    const SeenValue* value = phase.seen(trial, kToTheEnd);
    if (value == nullptr) break;
    out.push_back(value->good() ? phase.turned(*value->value) : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

double mean_of(const std::vector<double>& values, std::size_t count) {
  return std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

// Sequential halving over the rungs of its rounds.
RaceState halving_race(const std::vector<std::int64_t>& ladder, const std::vector<std::vector<double>>& values) {
  RaceState out;
  out.live.resize(values.size());
  std::iota(out.live.begin(), out.live.end(), std::size_t{0});
  for (const std::int64_t seeds : ladder) {
    const auto count = static_cast<std::size_t>(seeds);
    const auto failed = [&](std::size_t i) {
      const auto last = values[i].begin() + static_cast<std::ptrdiff_t>(std::min(count, values[i].size()));
      return std::any_of(values[i].begin(), last, [](double value) { return !std::isfinite(value); });
    };
    if (!std::all_of(out.live.begin(), out.live.end(), [&](std::size_t i) { return values[i].size() >= count; }))
      return out;
    std::erase_if(out.live, failed);
    out.seeds = seeds;
    std::vector<double> means(values.size(), 0.0);
    for (const std::size_t i : out.live) means[i] = mean_of(values[i], count);
    out.live = better_half(means, out.live);
    std::sort(out.live.begin(), out.live.end());
    if (out.live.size() > 1) continue;
    out.decided = !out.live.empty();
    if (out.decided) out.winner = out.live.front();
    return out;
  }
  return out;
}

RaceState state_of(const PhaseCourse& phase, const std::vector<std::int64_t>& ladder,
                   const std::vector<std::vector<double>>& values) {
  const RaceTerms& race = phase.setup->search.advance.race;
  const RaceTests tests{race.terms.alpha, race.terms.first};
  if (values.size() == 1) return halving_race({ladder.front()}, values);
  switch (race.rule) {
    case RaceRule::kKimNelson:
      return locus::race(race.terms, values);
    case RaceRule::kHalving:
      return halving_race(ladder, values);
    case RaceRule::kTTest:
      return t_race(tests, values);
    case RaceRule::kFriedman:
      break;
  }
  return f_race(tests, values);
}

std::optional<RuleAnswer> of_race(const PhaseCourse& phase, const SearchBudgetLeft& budget, std::int64_t group,
                                  bool& waits) {
  const RaceCourse race = race_of(phase, group);
  std::vector<std::int64_t> next, settled;
  std::int64_t rung = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t unit : phase.members()[static_cast<std::size_t>(group)]) {
    const auto i = static_cast<std::size_t>(unit);
    const UnitCourse& course = phase.units[i];
    if (course.rung < 0 || phase.flags[i].stopped) continue;
    const bool live = std::find(race.live.begin(), race.live.end(), unit) != race.live.end();
    if (!live && course.state == UnitState::kParked) settled.push_back(unit);
    if (live && !race.decided && course.state == UnitState::kRunning) waits = true;
    const bool judged = phase.ladder(unit)[static_cast<std::size_t>(course.rung)] <= race.seeds;
    if (!live || race.decided || !judged || course.rung == phase.top(unit)) continue;
    if (course.rung < rung) next.clear(), rung = course.rung;
    if (course.rung == rung) next.push_back(unit);
  }
  if (next.empty()) rung = phase.units[static_cast<std::size_t>(settled.empty() ? 0 : settled.front())].rung;
  Admitted now = admitted(phase, budget, next, rung + 1);
  if (phase.setup->search.parallel > 0 && !settled.empty()) now.units.clear();
  if (!now.units.empty() || !settled.empty()) {
    const std::int64_t to = next.empty() ? rung : rung + 1;
    return RuleAnswer{AdvanceDecision{now.units, to, settled}, to_string(phase.setup->search.advance.race.rule), 1};
  }
  waits = waits || now.no_place;
  return std::nullopt;
}

}  // namespace

RaceCourse race_of(const PhaseCourse& phase, std::int64_t group) {
  RaceCourse out;
  std::vector<std::int64_t> units;
  std::vector<std::vector<double>> values;
  for (const std::int64_t unit : phase.members()[static_cast<std::size_t>(group)]) {
    const auto i = static_cast<std::size_t>(unit);
    if (phase.units[i].rung < 0 || phase.flags[i].stopped) continue;
    units.push_back(unit);
    values.push_back(values_of(phase, unit));
  }
  if (units.empty()) return out;
  const RaceState state = state_of(phase, phase.ladder(units.front()), values);
  for (const std::size_t i : state.live) out.live.push_back(units[i]);
  out.seeds = state.seeds;
  out.decided = state.decided || state.live.empty();
  if (state.decided) out.live = {units[state.winner]};
  return out;
}

std::optional<RuleAnswer> raced_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const bool closed = proposals_closed(phase, budget);
  if (!closed && (budget.ordered() || phase.setup->search.proposer == Proposer::kExternal)) return std::nullopt;
  for (std::size_t group = 0; group < phase.members().size(); ++group) {
    const LadderStandings* units = phase.standings.ladder(static_cast<std::int64_t>(group), 0);
    if (!closed && units != nullptr && units->idle > 0) continue;
    bool waits = false;
    if (auto verdict = of_race(phase, budget, static_cast<std::int64_t>(group), waits)) return verdict;
    if (waits && budget.ordered()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace locus

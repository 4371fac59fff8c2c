// Keeps counts and orders of units.
#include "core/search/standings.h"

#include <algorithm>
#include <cmath>

#include "core/search/course.h"
#include "core/search/halving.h"
#include "core/search/stopping.h"

namespace locus {
namespace {

void enter(Ranking& ranking, const RankedScore& one, int by) { by > 0 ? ranking.insert(one) : ranking.erase(one); }

bool stops_by_median(const SearchSetup& setup) {
  return std::any_of(setup.search.stops.begin(), setup.search.stops.end(),
                     [](const StopRule& stop) { return std::holds_alternative<MedianRule>(stop.rule); });
}

}  // namespace

void Standings::count(const PhaseCourse& phase, std::int64_t unit, int by) {
  const auto i = static_cast<std::size_t>(unit);
  const UnitCourse& course = phase.units[i];
  states_[static_cast<std::size_t>(course.state)] += by;
  if (course.bracket >= 0) {
    LadderStandings& ladder = ladders_[{phase.setup->units[i].group, course.bracket}];
    ladder.units += by;
    if (course.rung < 0 && !phase.flags[i].stopped) ladder.idle += by;
    const AdvanceRule rule = phase.setup->search.advance.rule;
    if (rule == AdvanceRule::kHalve || rule == AdvanceRule::kHyperband) count_rungs(phase, unit, by);
    if (rule == AdvanceRule::kAsha && phase.setup->search.advance.park) count_climber(phase, unit, by);
  }
  if (phase.setup->search.budget.target && phase.reached(unit)) {
    by > 0 ? void(reaching_.insert(unit)) : void(reaching_.erase(unit));
  }
  if (course.state == UnitState::kFinished && stops_by_median(*phase.setup)) count_finished(phase, unit, by);
}

void Standings::count_rungs(const PhaseCourse& phase, std::int64_t unit, int by) {
  const auto i = static_cast<std::size_t>(unit);
  const UnitCourse& course = phase.units[i];
  const bool stopped = phase.flags[i].stopped;
  auto& rungs = ladders_[{phase.setup->units[i].group, course.bracket}].rungs;
  if (rungs.empty()) rungs.resize(phase.ladder(unit).size());
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    RungStandings& here = rungs[static_cast<std::size_t>(rung)];
    const std::optional<double> score = course.scores[static_cast<std::size_t>(rung)];
    const bool last = rung == course.rung;
    // What was stopped here gives its place to the next.
    const bool ranks = score && std::isfinite(*score) && !(stopped && last);
    const RankedScore one{ranks ? *score : worst_score(), unit};
    enter(here.all, one, by);
    if (score || stopped) here.there += by;
    if (!ranks || !last) continue;
    enter(here.standing, one, by);
    if (!course.settled) enter(here.unsettled, one, by);
  }
}

void Standings::count_climber(const PhaseCourse& phase, std::int64_t unit, int by) {
  const auto i = static_cast<std::size_t>(unit);
  const UnitCourse& course = phase.units[i];
  auto& rungs = ladders_[{phase.setup->units[i].group, course.bracket}].rungs;
  if (rungs.empty()) rungs.resize(phase.ladder(unit).size());
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    const std::optional<double> score = course.scores[static_cast<std::size_t>(rung)];
    if (!score) return;
    const RankedScore one{std::isfinite(*score) ? *score : worst_score(), unit};
    enter(rungs[static_cast<std::size_t>(rung)].all, one, by);
    if (rung == course.rung && course.state == UnitState::kParked)
      enter(rungs[static_cast<std::size_t>(rung)].standing, one, by);
  }
}

void Standings::count_finished(const PhaseCourse& phase, std::int64_t unit, int by) {
  const auto i = static_cast<std::size_t>(unit);
  Finished& group = finished_[phase.setup->units[i].group];
  group.units += by;
  auto& steps = group.at[phase.steps_per_epoch(unit)];
  for (const auto& [step, value] : phase.units[i].curve) {
    if (!std::isnan(value)) enter(steps[step], {value, unit}, by);
  }
}

const LadderStandings* Standings::ladder(std::int64_t group, std::int64_t bracket) const {
  const auto found = ladders_.find({group, bracket});
  return found == ladders_.end() || found->second.units == 0 ? nullptr : &found->second;
}

std::int64_t Standings::finished(std::int64_t group) const {
  const auto found = finished_.find(group);
  return found == finished_.end() ? 0 : found->second.units;
}

std::optional<double> Standings::percentile(std::int64_t group, double rate, std::int64_t step,
                                            double percentile) const {
  const auto found = finished_.find(group);
  if (found == finished_.end()) return std::nullopt;
  std::vector<const Ranking*> there;
  std::size_t count = 0;
  for (const auto& [theirs, steps] : found->second.at) {
    const auto at = steps.find(theirs == rate ? step : std::llround(static_cast<double>(step) / rate * theirs));
    if (at == steps.end() || at->second.empty()) continue;
    there.push_back(&at->second);
    count += at->second.size();
  }
  if (there.empty()) return std::nullopt;
  if (there.size() == 1)
    return percentile_of(count, percentile, [&](std::size_t i) { return there[0]->at(count - 1 - i).score; });
  std::vector<double> all;  // of several rates: together
  for (const Ranking* ranking : there) {
    for (std::size_t i = 0; i < ranking->size(); ++i) all.push_back(ranking->at(i).score);
  }
  std::sort(all.begin(), all.end());
  return percentile_of(count, percentile, [&](std::size_t i) { return all[i]; });
}

}  // namespace locus

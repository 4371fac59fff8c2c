// How a phase changes: by a setup, by units sent further, by values.
#include <algorithm>
#include <cmath>

#include "core/search/course.h"
#include "core/search/halving.h"

namespace locus {
namespace {

std::size_t index_of(std::int64_t unit) { return static_cast<std::size_t>(unit); }

}  // namespace

void PhaseCourse::begin(SearchSetup next) {
  std::vector<UnitCourse> courses(next.units.size());
  std::vector<UnitFlags> kept(next.units.size());
  std::unordered_map<std::int64_t, std::int64_t> moved;  // unit before -> now
  for (std::size_t i = 0; setup && i < next.units.size(); ++i) {
    if (next.units[i].trials.empty()) continue;
    const auto found = unit_of_trial.find(next.units[i].trials.front());
    if (found == unit_of_trial.end()) continue;
    courses[i] = std::move(units[index_of(found->second)]);
    kept[i] = flags[index_of(found->second)];
    moved[found->second] = static_cast<std::int64_t>(i);
  }
  setup = std::make_shared<SearchSetup>(std::move(next));
  units = std::move(courses);
  flags = std::move(kept);
  place();
  spent = {};
  begun.clear();
  fresh.clear();
  other_curves.clear();
  first_waiting = 0;
  for (auto& [where, came] : arrivals) {
    std::vector<std::int64_t> now;
    for (const std::int64_t unit : came) {
      if (moved.contains(unit)) now.push_back(moved[unit]);
    }
    came = std::move(now);
  }
  ended = false;
  reason.clear();
  for (std::int64_t unit = 0; index_of(unit) < units.size(); ++unit) {
    UnitCourse& course = units[index_of(unit)];
    const std::int64_t rung = std::min(course.rung, top(unit));
    course.rung = -1;
    if (rung >= 0) {
      const bool settled = course.settled;
      send(unit, rung);
      course.settled = settled;
    }
    refresh(unit);
  }
}

void PhaseCourse::add(const std::vector<SearchUnitRow>& rows) {
  if (rows.empty()) return;
  if (setup.use_count() > 1) setup = std::make_shared<SearchSetup>(*setup);
  auto& mine = const_cast<SearchSetup&>(*setup);  // nobody else holds it
  mine.units.insert(mine.units.end(), rows.begin(), rows.end());
  units.resize(mine.units.size());
  flags.resize(mine.units.size());
  place();
}

void PhaseCourse::send(std::int64_t unit, std::int64_t rung) {
  UnitCourse& course = units[index_of(unit)];
  if (rung > course.rung) {
    const Fold::Spent before = cost(unit, course.rung), now = cost(unit, rung);
    spent.stages += now.stages - before.stages;
    spent.epochs += now.epochs - before.epochs;
    if (begun.insert(setup->units[index_of(unit)].cell).second) ++spent.proposals;
    course.rung = rung;
  }
  course.settled = false;
  while (index_of(first_waiting) < units.size() && units[index_of(first_waiting)].rung >= 0) ++first_waiting;
  refresh(unit);
}

UnitState PhaseCourse::state_of(std::int64_t unit) const {
  const UnitCourse& course = units[index_of(unit)];
  if (flags[index_of(unit)].stopped || course.settled) return UnitState::kStopped;
  if (course.rung < 0) return UnitState::kWaiting;
  const auto& score = course.scores[index_of(course.rung)];
  if (!score) return UnitState::kRunning;
  if (!std::isfinite(*score)) return UnitState::kFailed;
  if (course.rung == top(unit)) return UnitState::kFinished;
  const bool won = ended && setup->search.advance.rule == AdvanceRule::kRace;
  if (won) return UnitState::kFinished;
  return ended ? UnitState::kStopped : UnitState::kParked;
}

void PhaseCourse::arrive(std::int64_t unit, std::int64_t rung) {
  const Advance& advance = setup->search.advance;
  if (advance.rule != AdvanceRule::kAsha || advance.park) return;  // nobody else asks
  auto& came = arrivals[{setup->units[index_of(unit)].group, rung}];
  if (std::find(came.begin(), came.end(), unit) == came.end()) came.push_back(unit);
}

void PhaseCourse::refresh(std::int64_t unit) {
  UnitCourse& course = units[index_of(unit)];
  course.scores.resize(index_of(course.rung + 1));
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    auto& known = course.scores[index_of(rung)];
    const bool was = known.has_value();
    known = score(unit, rung);
    if (!was && known) arrive(unit, rung);
  }
  if (!setup->search.stops.empty()) refresh_curves(unit);
  course.state = state_of(unit);
}

// Whole, since the trials may be others than before.
void PhaseCourse::refresh_curves(std::int64_t unit) {
  UnitCourse& course = units[index_of(unit)];
  course.curve.clear();
  other_curves.erase(unit);
  if (course.rung < 0) return;
  std::set<std::pair<std::string, std::int64_t>> points;
  for (const std::int64_t trial : trials_at(unit, course.rung)) {
    const auto found = values.find(trial);
    if (found == values.end()) return;
    for (const auto& [point, value] : found->second) {
      if (point.second != kToTheEnd) points.insert(point);
    }
  }
  for (const auto& [metric, step] : points) refresh_curve(unit, metric, step);
  if (!points.empty()) fresh.insert(unit);
}

void PhaseCourse::refresh_curve(std::int64_t unit, const std::string& metric, std::int64_t step) {
  double sum = 0;
  const std::vector<std::int64_t> trials = trials_at(unit, units[index_of(unit)].rung);
  for (const std::int64_t trial : trials) {
    const SeenValue* value = seen(trial, step, metric);
    if (value == nullptr || !value->value) return;
    sum += *value->value;
  }
  const double mean = sum / static_cast<double>(trials.size());
  if (metric.empty()) {
    units[index_of(unit)].curve[step] = turned(mean);
  } else {
    other_curves[unit][metric][step] = mean;
  }
}

void PhaseCourse::observe(const ObserveDecision& observed, std::int64_t number) {
  values[observed.trial][{observed.metric, observed.step}] = {observed.value, number};
  const std::int64_t unit = unit_of_trial.at(observed.trial);
  UnitCourse& course = units[index_of(unit)];
  if (course.rung < 0) return;
  const bool curve = observed.step != kToTheEnd && !setup->search.stops.empty();
  if (curve) {
    refresh_curve(unit, observed.metric, observed.step);
    fresh.insert(unit);
  }
  if (!observed.metric.empty()) return;
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    if (score_step(unit, rung) != observed.step) continue;
    auto& known = course.scores[index_of(rung)];
    const bool was = known.has_value();
    known = score(unit, rung);
    if (!was && known) arrive(unit, rung);
  }
  course.state = state_of(unit);
}

void PhaseCourse::end(const std::string& why) {
  ended = true;
  reason = why;
  for (std::int64_t unit = 0; index_of(unit) < units.size(); ++unit) units[index_of(unit)].state = state_of(unit);
}

}  // namespace locus

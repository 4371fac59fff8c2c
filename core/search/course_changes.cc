// How a phase changes: by a setup, by units sent further, by values.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/search/course.h"
#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

std::size_t index_of(std::int64_t unit) { return static_cast<std::size_t>(unit); }

// The one of its assignment, added last where there is none.
template <class One>
One& of_assignment(std::vector<One>& list, const std::string& assignment) {
  for (One& one : list) {
    if (one.assignment == assignment) return one;
  }
  list.push_back({assignment, {}});
  return list.back();
}

void add_choices(const std::vector<SearchChoiceGroup>& choices, SearchChoiceTerms& terms) {
  for (const SearchChoiceGroup& group : choices) {
    SearchChoiceGroup& known = of_assignment(terms.groups, group.assignment);
    for (const SearchCandidate& one : group.candidates) {
      std::vector<std::int64_t>& units = of_assignment(known.candidates, one.assignment).units;
      units.insert(units.end(), one.units.begin(), one.units.end());
    }
  }
}

}  // namespace

PhaseCourse::Change::Change(PhaseCourse& phase, std::int64_t unit)
    : phase_(phase),
      unit_(unit),
      outermost_(phase.flags[index_of(unit)].counted),
      finished_(phase.units[index_of(unit)].state == UnitState::kFinished) {
  if (!outermost_) return;
  phase_.count_arrival(unit_, false);
  phase_.standings.drop(phase_, unit_);
  phase_.flags.edit(index_of(unit_)).counted = false;
}

PhaseCourse::Change::~Change() {
  if (!outermost_) return;
  UnitFlags& flags = phase_.flags.edit(index_of(unit_));
  flags.counted = true;
  phase_.standings.take(phase_, unit_);
  const UnitState state = phase_.units[index_of(unit_)].state;
  if (state == UnitState::kParked) phase_.count_arrival(unit_, true);
  phase_.reconsider(unit_);
  if (finished_ || state == UnitState::kFinished) {  // others are compared with it
    const std::set<std::int64_t> others = phase_.fresh;
    for (const std::int64_t other : others) phase_.reconsider(other);
  }
  phase_.pass_begun();
}

void PhaseCourse::reconsider(std::int64_t unit) {
  if (!fresh.contains(unit)) return;
  const UnitCourse& course = units[index_of(unit)];
  const bool under_way = course.state == UnitState::kRunning || course.state == UnitState::kParked;
  if (!under_way) return forget_fresh(unit);
  if (!course.overruled && stops_between(*this, unit)) {
    stopping.insert(unit);
  } else {
    stopping.erase(unit);
  }
}

void PhaseCourse::pass_begun() {
  while (index_of(first_waiting) < units.size() && !waits(first_waiting)) ++first_waiting;
}

void PhaseCourse::take_all() {
  for (std::int64_t unit = 0; index_of(unit) < units.size(); ++unit) {
    if (flags[index_of(unit)].counted) continue;
    flags.edit(index_of(unit)).counted = true;
    standings.take(*this, unit);
    if (units[index_of(unit)].state == UnitState::kParked) count_arrival(unit, true);
  }
  pass_begun();
}

void PhaseCourse::begin(SearchSetup next) {
  std::vector<UnitCourse> courses(next.units.size());
  std::vector<UnitFlags> kept(next.units.size());
  std::unordered_map<std::int64_t, std::int64_t> moved;  // unit before -> now
  for (std::size_t i = 0; setup && i < next.units.size(); ++i) {
    if (next.units[i].trials.empty()) continue;
    const auto found = unit_of_trial().find(next.units[i].trials.front());
    if (found == unit_of_trial().end()) continue;
    courses[i] = units[index_of(found->second)];
    kept[i] = flags[index_of(found->second)];
    kept[i].counted = false;
    moved[found->second] = static_cast<std::int64_t>(i);
  }
  setup = std::make_shared<SearchSetup>(std::move(next));
  standings = {};
  units.clear(), flags.clear(), arrived.clear();
  for (UnitCourse& course : courses) units.push_back(std::move(course));
  for (const UnitFlags& each : kept) flags.push_back(each);
  for (std::size_t i = 0; i < units.size(); ++i) arrived.push_back({});
  place();
  spent = {};
  begun.clear();
  forget_fresh();
  other_curves.clear();
  first_waiting = 0;
  const auto came = std::exchange(arrivals, {});
  ended = false;
  reason.clear();
  for (std::int64_t unit = 0; index_of(unit) < units.size(); ++unit) {
    UnitCourse& course = units.edit(index_of(unit));
    const std::int64_t rung = std::min(course.rung, top(unit));
    course.rung = -1;
    if (rung >= 0) {
      const bool settled = course.settled;
      send(unit, rung);
      course.settled = settled;
    }
    refresh(unit);
  }
  for (const auto& [where, there] : came) {
    for (const Arrival& each : there.came) {
      if (const auto now = moved.find(each.unit); now != moved.end()) arrive(now->second, where.second);
    }
  }
  take_all();
  const std::set<std::int64_t> grown = fresh;
  for (const std::int64_t unit : grown) reconsider(unit);
}

void PhaseCourse::add(const std::vector<SearchUnitRow>& rows, const std::vector<SearchChoiceGroup>& choices) {
  if (rows.empty()) return;
  if (setup.use_count() > 1) setup = std::make_shared<SearchSetup>(*setup);
  auto& mine = const_cast<SearchSetup&>(*setup);  // nobody else holds it
  mine.units.insert(mine.units.end(), rows.begin(), rows.end());
  if (mine.choose) add_choices(choices, *mine.choose);
  for (std::size_t i = 0; i < rows.size(); ++i) units.push_back({}), flags.push_back({}), arrived.push_back({});
  place();
  take_all();
}

void PhaseCourse::send(std::int64_t unit, std::int64_t rung) {
  const Change change(*this, unit);
  UnitCourse& course = units.edit(index_of(unit));
  if (rung > course.rung) {
    const Fold::Spent before = cost(unit, course.rung), now = cost(unit, rung);
    spent.stages += now.stages - before.stages;
    spent.epochs += now.epochs - before.epochs;
    bool& known = begun.edit(setup->units[index_of(unit)].cell);
    if (!std::exchange(known, true)) ++spent.proposals;
    course.rung = rung;
  }
  course.settled = false;
  refresh(unit);
}

void PhaseCourse::settle(std::int64_t unit) {
  const Change change(*this, unit);
  units.edit(index_of(unit)).settled = true;
  refresh(unit);
}

void PhaseCourse::stop(std::int64_t unit, std::int64_t step, bool settled, const std::string& why) {
  const Change change(*this, unit);
  UnitFlags& mine = flags.edit(index_of(unit));
  mine.stopped = true, mine.stopped_at = step;
  UnitCourse& course = units.edit(index_of(unit));
  course.reason = why;
  course.settled = settled;
  course.overruled = false;
  refresh(unit);
}

void PhaseCourse::let_go_on(std::int64_t unit, std::int64_t rung, const std::string& why) {
  const Change change(*this, unit);
  UnitFlags& mine = flags.edit(index_of(unit));
  mine.stopped = false, mine.stopped_at = 0;
  UnitCourse& course = units.edit(index_of(unit));
  course.reason = why;
  course.overruled = true;
  send(unit, rung);
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

bool PhaseCourse::arrives() const {
  const Advance& advance = setup->search.advance;
  return advance.rule == AdvanceRule::kAsha && !advance.park;
}

void PhaseCourse::arrive(std::int64_t unit, std::int64_t rung) {
  std::vector<std::int64_t>& places = arrived.edit(index_of(unit));
  if (places.size() <= index_of(rung)) places.resize(index_of(rung) + 1, -1);
  if (places[index_of(rung)] >= 0) return;
  Arrivals& there = arrivals[{setup->units[index_of(unit)].group, rung}];
  places[index_of(rung)] = static_cast<std::int64_t>(there.came.size());
  const double score = recorded(unit, rung);
  there.came.push_back({unit, static_cast<std::int64_t>(there.scores.at_least(score))});
  there.scores.insert({score, unit});
}

double PhaseCourse::recorded(std::int64_t unit, std::int64_t rung) const {
  const auto& scores = units[index_of(unit)].scores;
  return index_of(rung) < scores.size() ? scores[index_of(rung)].value_or(worst_score()) : worst_score();
}

void PhaseCourse::rank_arrivals(std::int64_t group, std::int64_t rung) {
  Arrivals& there = arrivals[{group, rung}];
  there.scores = {};
  for (std::size_t i = 0; i < there.came.size(); ++i) {
    Arrival& each = there.came.edit(i);
    const double score = recorded(each.unit, rung);
    each.as_good = static_cast<std::int64_t>(there.scores.at_least(score));
    there.scores.insert({score, each.unit});
  }
}

// Of the rung where the unit stands.
void PhaseCourse::count_arrival(std::int64_t unit, bool parked) {
  const std::int64_t rung = units[index_of(unit)].rung;
  const auto& places = arrived[index_of(unit)];
  if (rung < 0 || places.size() <= index_of(rung) || places[index_of(rung)] < 0) return;
  auto& standing = arrivals[{setup->units[index_of(unit)].group, rung}].parked;
  if (parked) {
    standing.insert(places[index_of(rung)]);
  } else {
    standing.erase(places[index_of(rung)]);
  }
}

void PhaseCourse::rescore(std::int64_t unit, std::int64_t rung) {
  auto& known = units.edit(index_of(unit)).scores[index_of(rung)];
  const std::optional<double> was = std::exchange(known, score(unit, rung));
  if (!arrives() || was == known) return;
  if (known) arrive(unit, rung);
  if (was) rank_arrivals(setup->units[index_of(unit)].group, rung);
}

void PhaseCourse::refresh(std::int64_t unit) {
  const Change change(*this, unit);
  UnitCourse& course = units.edit(index_of(unit));
  course.scores.resize(index_of(course.rung + 1));
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) rescore(unit, rung);
  if (!setup->search.stops.empty()) refresh_curves(unit);
  units.edit(index_of(unit)).state = state_of(unit);
}

// Whole, since the trials may be others than before.
void PhaseCourse::refresh_curves(std::int64_t unit) {
  UnitCourse& course = units.edit(index_of(unit));
  course.curve.clear();
  other_curves.erase(unit);
  if (course.rung < 0) return;
  std::set<std::pair<std::string, std::int64_t>> points;
  for (const std::int64_t trial : trials_at(unit, course.rung)) {
    const TrialValues* known = values.find(trial);
    if (known == nullptr) return;
    for (const auto& [point, value] : *known) {
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
    units.edit(index_of(unit)).curve[step] = turned(mean);
  } else {
    other_curves.edit(unit)[metric][step] = mean;
  }
}

void PhaseCourse::observe(const ObserveDecision& observed, std::int64_t number) {
  const std::int64_t unit = unit_of_trial().at(observed.trial);
  const Change change(*this, unit);
  values.edit(observed.trial)[{observed.metric, observed.step}] = {observed.value, number};
  const std::int64_t reached = units[index_of(unit)].rung;
  if (reached < 0) return;
  if (observed.step != kToTheEnd && !setup->search.stops.empty()) {
    refresh_curve(unit, observed.metric, observed.step);
    fresh.insert(unit);
  }
  if (!observed.metric.empty()) return;
  for (std::int64_t rung = 0; rung <= reached; ++rung) {
    if (score_step(unit, rung) == observed.step) rescore(unit, rung);
  }
  units.edit(index_of(unit)).state = state_of(unit);
}

void PhaseCourse::end(const std::string& why) {
  ended = true;
  reason = why;
  for (std::int64_t unit = 0; index_of(unit) < units.size(); ++unit) {
    const Change change(*this, unit);
    units.edit(index_of(unit)).state = state_of(unit);
  }
}

}  // namespace locus

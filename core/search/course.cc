// What the rules ask of a phase.
#include "core/search/course.h"

#include <algorithm>
#include <cmath>

#include "core/search/halving.h"

namespace locus {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// Seeds at the rungs of a race between so many candidates.
std::vector<std::int64_t> race_ladder(const RaceTerms& race, std::int64_t candidates) {
  std::vector<std::int64_t> out;
  if (race.rule == RaceRule::kHalving) {
    std::int64_t seeds = 0;
    for (std::int64_t live = candidates; live > 1; live = (live + 1) / 2) {
      seeds = std::min(race.most, seeds + seeds_of_round(race.budget, candidates, live));
      out.push_back(std::max<std::int64_t>(1, seeds));
    }
    if (out.empty()) out.push_back(std::max<std::int64_t>(1, race.terms.first));
    return out;
  }
  if (candidates < 2) return {race.terms.first};
  for (std::int64_t seeds = race.terms.first; seeds <= std::max(race.most, race.terms.first); ++seeds)
    out.push_back(seeds);
  return out;
}

}  // namespace

bool SeenValue::good() const { return value && std::isfinite(*value); }

bool PhaseCourse::of_seeds() const {
  const Advance& advance = setup->search.advance;
  return advance.rule == AdvanceRule::kRace ||
         (advance.rule != AdvanceRule::kNone && advance.resource == SearchResource::kSeeds);
}

bool PhaseCourse::of_rungs() const { return setup->search.horizon == SearchHorizon::kRung; }

bool PhaseCourse::runs_ahead() const {
  const Advance& advance = setup->search.advance;
  return advance.rule == AdvanceRule::kAsha && !advance.park && !of_seeds() && !of_rungs();
}

const std::vector<std::int64_t>& PhaseCourse::ladder(std::int64_t unit) const {
  const bool race = setup->search.advance.rule == AdvanceRule::kRace;
  const std::int64_t bracket = std::max<std::int64_t>(0, units[at(unit)].bracket);
  return ladders[at(race ? setup->units[at(unit)].group : bracket)];
}

double PhaseCourse::steps_per_epoch(std::int64_t unit) const {
  const double own = setup->units[at(unit)].steps_per_epoch;
  return own > 0 ? own : setup->steps_per_epoch;
}

std::int64_t PhaseCourse::last_step(std::int64_t unit) const {
  const std::int64_t own = setup->units[at(unit)].last_step;
  return own > 0 ? own : setup->last_step;
}

std::int64_t PhaseCourse::validation_steps(std::int64_t unit) const {
  if (setup->validate_every <= 0) return 0;
  return std::max<std::int64_t>(1, std::llround(setup->validate_every * steps_per_epoch(unit)));
}

std::int64_t PhaseCourse::score_step(std::int64_t unit, std::int64_t rung) const {
  if (of_seeds() || of_rungs() || rung >= top(unit)) return kToTheEnd;
  return std::llround(static_cast<double>(ladder(unit)[at(rung)]) * steps_per_epoch(unit));
}

std::vector<std::int64_t> PhaseCourse::trials_at(std::int64_t unit, std::int64_t rung) const {
  const SearchUnitRow& row = setup->units[at(unit)];
  if (of_rungs() && rung > 0) {
    if (at(rung) > row.later_rungs.size()) return {};
    return row.later_rungs[at(rung) - 1];
  }
  if (!of_seeds()) return row.trials;
  const std::size_t count = std::min(row.trials.size(), at(ladder(unit)[at(rung)]));
  return {row.trials.begin(), row.trials.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<std::int64_t> PhaseCourse::granted(std::int64_t unit, std::int64_t rung) const {
  if (rung < 0) return {};
  if (!of_rungs()) return trials_at(unit, rung);
  std::vector<std::int64_t> out;
  for (std::int64_t each = 0; each <= rung; ++each) {
    const auto trials = trials_at(unit, each);
    out.insert(out.end(), trials.begin(), trials.end());
  }
  return out;
}

Fold::Spent PhaseCourse::cost(std::int64_t unit, std::int64_t rung) const {
  Fold::Spent out;
  if (rung < 0) return out;
  const double steps = steps_per_epoch(unit);
  const double whole = steps > 0 ? static_cast<double>(last_step(unit)) / steps : 0;
  const auto epochs = [&](std::int64_t at_rung) {
    return at_rung >= top(unit) ? whole : static_cast<double>(ladder(unit)[at(at_rung)]);
  };
  if (of_rungs()) {
    for (std::int64_t each = 0; each <= rung; ++each) {
      const auto trials = static_cast<std::int64_t>(trials_at(unit, each).size());
      out.stages += trials;
      out.epochs += static_cast<double>(trials) * epochs(each);
    }
    return out;
  }
  out.stages = static_cast<std::int64_t>(trials_at(unit, rung).size());
  const double each = of_seeds() ? whole : epochs(std::min(top(unit), runs_ahead() ? rung + 1 : rung));
  out.epochs = static_cast<double>(out.stages) * each;
  return out;
}

std::int64_t PhaseCourse::sent_step(std::int64_t unit) const {
  const std::int64_t rung = units[at(unit)].rung;
  if (rung < 0) return 0;
  if (of_rungs()) return std::llround(static_cast<double>(ladder(unit)[at(rung)]) * steps_per_epoch(unit));
  const std::int64_t ahead = runs_ahead() ? std::min(top(unit), rung + 1) : rung;
  const std::int64_t step = score_step(unit, ahead);
  return step == kToTheEnd ? last_step(unit) : step;
}

std::int64_t PhaseCourse::stood_at(std::int64_t unit) const {
  const UnitCourse& course = units[at(unit)];
  std::int64_t out = 1;
  if (!course.curve.empty()) out = std::max(out, course.curve.rbegin()->first);
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    if (course.scores[at(rung)]) out = std::max(out, score_step(unit, rung));
  }
  return out;
}

const SeenValue* PhaseCourse::seen(std::int64_t trial, std::int64_t step, const std::string& metric) const {
  const TrialValues* known = values.find(trial);
  if (known == nullptr) return nullptr;
  const auto value = known->find({metric, step});
  return value == known->end() ? nullptr : &value->second;
}

std::optional<double> PhaseCourse::score(std::int64_t unit, std::int64_t rung) const {
  const std::vector<std::int64_t> trials = trials_at(unit, rung);
  const std::int64_t step = score_step(unit, rung);
  double sum = 0;
  bool good = !trials.empty();
  for (const std::int64_t trial : trials) {
    const SeenValue* value = seen(trial, step);
    if (value == nullptr) return std::nullopt;
    good = good && value->good();
    if (good) sum += *value->value;
  }
  return good ? turned(sum / static_cast<double>(trials.size())) : worst_score();
}

bool PhaseCourse::running(std::int64_t unit) const { return units[at(unit)].state == UnitState::kRunning; }

std::optional<double> PhaseCourse::reached(std::int64_t unit) const {
  const SearchBudget::Target& target = *setup->search.budget.target;
  const auto meets = [&](double value) {
    return std::isfinite(value) &&
           ((target.at_least && value >= *target.at_least) || (target.at_most && value <= *target.at_most));
  };
  const bool own = target.metric.empty() || target.metric == setup->metric;
  const UnitCourse& course = units[at(unit)];
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    if (own) {
      const auto& score = course.scores[at(rung)];
      if (score && meets(turned(*score))) return turned(*score);
      continue;
    }
    const std::int64_t step = score_step(unit, rung);
    const auto trials = trials_at(unit, rung);
    double sum = 0;
    bool all = !trials.empty();
    for (const std::int64_t trial : trials) {
      const SeenValue* value = seen(trial, step, target.metric);
      all = all && value != nullptr && value->good();
      if (all) sum += *value->value;
    }
    if (all && meets(sum / static_cast<double>(trials.size()))) return sum / static_cast<double>(trials.size());
  }
  return std::nullopt;
}

bool PhaseCourse::all_proposed() const {
  if (next_proposal()) return false;
  const Search& search = setup->search;
  if (search.proposer != Proposer::kExternal) return true;
  if (search.proposals == 0) return false;
  const std::size_t trials =
      search.advance.unit == SearchUnit::kTrial && !setup->units.empty()
          ? std::max<std::size_t>(1, units.size() / at(std::max<std::int64_t>(1, spent.proposals)))
          : 1;
  return std::all_of(members().begin(), members().end(),
                     [&](const auto& group) { return group.size() >= at(search.proposals) * trials; });
}

bool PhaseCourse::waits(std::int64_t unit) const {
  const UnitCourse& course = units[at(unit)];
  return course.rung < 0 && course.bracket >= 0 && !flags[at(unit)].stopped;
}

std::optional<std::int64_t> PhaseCourse::next_proposal() const {
  return at(first_waiting) < units.size() ? std::optional(first_waiting) : std::nullopt;
}

std::string PhaseCourse::name(std::int64_t unit) const {
  const SearchUnitRow& row = setup->units[at(unit)];
  std::string out = "proposal " + std::to_string(row.proposal);
  if (setup->search.advance.unit == SearchUnit::kTrial && !row.trials.empty())
    out = "trial " + std::to_string(row.trials.front());
  if (setup->groups.size() > 1) out += " of " + setup->groups[at(row.group)];
  return out;
}

void PhaseCourse::place() {
  const Search& search = setup->search;
  auto made = std::make_shared<Layout>();
  made->members.assign(setup->groups.size(), {});
  for (std::size_t i = 0; i < setup->units.size(); ++i) {
    const SearchUnitRow& row = setup->units[i];
    made->members[at(row.group)].push_back(static_cast<std::int64_t>(i));
    for (const std::int64_t trial : row.trials) made->unit_of_trial[trial] = static_cast<std::int64_t>(i);
    for (const auto& rung : row.later_rungs) {
      for (const std::int64_t trial : rung) made->unit_of_trial[trial] = static_cast<std::int64_t>(i);
    }
  }
  layout_ = std::move(made);
  ladders.clear();
  if (search.advance.rule == AdvanceRule::kRace) {
    for (const auto& group : members()) {
      const auto candidates = std::max(static_cast<std::int64_t>(group.size()),
                                       search.proposer == Proposer::kExternal ? search.proposals : 0);
      ladders.push_back(race_ladder(search.advance.race, candidates));
    }
  } else if (search.advance.rule == AdvanceRule::kHyperband) {
    for (const Bracket& bracket : search.advance.brackets) ladders.push_back(bracket.rungs);
  } else {
    ladders.push_back(search.advance.rule == AdvanceRule::kNone ? std::vector<std::int64_t>{0} : search.advance.rungs);
  }
  if (search.advance.rule != AdvanceRule::kHyperband) return;
  for (const auto& group : members()) {
    std::size_t bracket = 0;
    std::int64_t filled = 0;
    for (const std::int64_t unit : group) {
      while (bracket < ladders.size() && filled == search.advance.brackets[bracket].units.front())
        ++bracket, filled = 0;
      const std::int64_t mine = bracket < ladders.size() ? static_cast<std::int64_t>(bracket) : -1;
      if (units[at(unit)].bracket != mine) units.edit(at(unit)).bracket = mine;
      ++filled;
    }
  }
}

}  // namespace locus

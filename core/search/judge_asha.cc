// Asynchronous halving: a unit at a time, in the order in which values came.
#include <cmath>

#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

Climber climber_of(const PhaseCourse& phase, std::int64_t unit) {
  const auto i = static_cast<std::size_t>(unit);
  const UnitCourse& course = phase.units[i];
  Climber out;
  for (const auto& score : course.scores) {
    if (!score) break;
    out.scores.push_back(*score);
  }
  out.rung = static_cast<std::size_t>(std::max<std::int64_t>(0, course.rung));
  out.there = course.state == UnitState::kParked;
  return out;
}

// Of all groups, the promotion from the highest rung; of those the first group's.
std::optional<RuleAnswer> parked_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const Advance& advance = phase.setup->search.advance;
  std::optional<std::int64_t> best;
  for (const auto& group : phase.members) {
    std::vector<Climber> climbers;
    std::vector<std::int64_t> units;
    for (const std::int64_t unit : group) {
      if (phase.units[static_cast<std::size_t>(unit)].rung < 0) continue;
      climbers.push_back(climber_of(phase, unit));
      units.push_back(unit);
    }
    const auto found = promoted(climbers, advance.rungs.size() - 1, advance.eta);
    if (!found) continue;
    const auto rung = [&](std::int64_t unit) { return phase.units[static_cast<std::size_t>(unit)].rung; };
    if (!best || rung(units[*found]) > rung(*best)) best = units[*found];
  }
  if (!best) return std::nullopt;
  const std::int64_t rung = phase.units[static_cast<std::size_t>(*best)].rung + 1;
  const Admitted now = admitted(phase, budget, {*best}, rung);
  if (now.units.empty()) return std::nullopt;
  return RuleAnswer{AdvanceDecision{now.units, rung, {}}, "asha", 1};
}

// Whoever stands at a rung below the top goes on or stops, each against those that were there before it.
std::optional<RuleAnswer> arrived_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const Advance& advance = phase.setup->search.advance;
  for (const auto& [where, units] : phase.arrivals) {
    const std::int64_t rung = where.second;
    std::vector<double> recorded;
    for (const std::int64_t unit : units) {
      const UnitCourse& course = phase.units[static_cast<std::size_t>(unit)];
      recorded.push_back(course.scores[static_cast<std::size_t>(rung)].value_or(worst_score()));
      if (course.rung != rung || course.state != UnitState::kParked) continue;
      if (!course.overruled && stops_at_rung(recorded, advance.eta)) {
        std::int64_t better = 0;
        for (const double each : recorded) better += each >= recorded.back() ? 1 : 0;
        const std::string reason = "asha: " + shown(phase.turned(recorded.back())) + " at rung " +
                                   std::to_string(phase.ladder(unit)[static_cast<std::size_t>(rung)]) + " is place " +
                                   std::to_string(better) + " of the " + std::to_string(recorded.size()) +
                                   " that were there, and one of " + std::to_string(advance.eta) + " goes on";
        return RuleAnswer{StopDecision{{unit}, rung, phase.stood_at(unit), false, reason}, "asha", 1};
      }
      if (budget.fits({unit}, rung + 1)) return RuleAnswer{AdvanceDecision{{unit}, rung + 1, {}}, "asha", 1};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RuleAnswer> climbing_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  return phase.setup->search.advance.park ? parked_next(phase, budget) : arrived_next(phase, budget);
}

}  // namespace locus

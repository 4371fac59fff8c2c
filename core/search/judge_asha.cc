// Asynchronous halving: a unit at a time, in the order in which values came.
#include <algorithm>

#include "core/search/judge_rules.h"

namespace locus {
namespace {

// The best of a rung among its best floor(n / eta), if it stands there still: nobody else that does is ahead of it.
std::optional<std::int64_t> promoted(const RungStandings& at, std::int64_t eta) {
  if (at.standing.empty()) return std::nullopt;
  const RankedScore& best = at.standing.at(0);
  const bool among = at.all.before(best) < at.all.size() / static_cast<std::size_t>(eta);
  return among ? std::optional(best.unit) : std::nullopt;
}

// Of all groups, the promotion from the highest rung; of those the first group's.
std::optional<RuleAnswer> parked_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const Advance& advance = phase.setup->search.advance;
  for (std::size_t rung = advance.rungs.size() - 1; rung-- > 0;) {
    for (std::size_t group = 0; group < phase.members().size(); ++group) {
      const LadderStandings* units = phase.standings.ladder(static_cast<std::int64_t>(group), 0);
      if (units == nullptr || units->rungs.size() <= rung) continue;
      const auto best = promoted(units->rungs[rung], advance.eta);
      if (!best) continue;
      const auto to = static_cast<std::int64_t>(rung) + 1;
      const Admitted now = admitted(phase, budget, {*best}, to);
      if (now.units.empty()) return std::nullopt;
      return RuleAnswer{AdvanceDecision{now.units, to, {}}, "asha", 1};
    }
  }
  return std::nullopt;
}

// Whoever stands at a rung below the top goes on or stops, each against those that were there before it.
std::optional<RuleAnswer> arrived_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const Advance& advance = phase.setup->search.advance;
  for (const auto& [where, there] : phase.arrivals) {
    const std::int64_t rung = where.second;
    for (const std::int64_t place : there.parked) {
      const auto& [unit, as_good] = there.came[static_cast<std::size_t>(place)];
      const UnitCourse& course = phase.units[static_cast<std::size_t>(unit)];
      const std::int64_t of = place + 1;
      if (!course.overruled && as_good >= std::max<std::int64_t>(1, of / advance.eta)) {
        const double own = *course.scores[static_cast<std::size_t>(rung)];  // it parks: it has one
        const std::string reason = "asha: " + shown(phase.turned(own)) + " at rung " +
                                   std::to_string(phase.ladder(unit)[static_cast<std::size_t>(rung)]) + " is place " +
                                   std::to_string(as_good + 1) + " of the " + std::to_string(of) +
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

// Successive halving and Hyperband: whole rungs are judged at once.
#include <algorithm>
#include <cmath>

#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

std::int64_t brackets_of(const PhaseCourse& phase) {
  return phase.setup->search.advance.rule == AdvanceRule::kHyperband ? static_cast<std::int64_t>(phase.ladders.size())
                                                                     : 1;
}

std::vector<std::int64_t> units_of(const PhaseCourse& phase, std::size_t group, std::int64_t bracket) {
  std::vector<std::int64_t> out;
  std::copy_if(phase.members[group].begin(), phase.members[group].end(), std::back_inserter(out),
               [&](std::int64_t unit) { return phase.units[static_cast<std::size_t>(unit)].bracket == bracket; });
  return out;
}

// The first verdict that one group of a bracket is due; `waits`: a later one is to come.
std::optional<RuleAnswer> of_group(const PhaseCourse& phase, const SearchBudgetLeft& budget,
                                   const std::vector<std::int64_t>& units, bool closed, bool& waits) {
  if (units.empty()) return std::nullopt;
  const std::int64_t top = phase.top(units.front());
  const bool keeps_all =
      phase.of_seeds() || phase.of_rungs();  // whose trainings have ended: nothing waits to be released
  for (std::int64_t rung = 0; rung < top; ++rung) {
    const Barrier barrier = barrier_at(phase, units, rung, closed);
    if (!barrier.open) {
      waits = true;
      return std::nullopt;
    }
    std::vector<std::int64_t> next, settled;
    for (const std::int64_t unit : barrier.winners) {
      const auto i = static_cast<std::size_t>(unit);
      if (phase.units[i].rung == rung && !phase.flags[i].stopped) next.push_back(unit);
    }
    for (const std::int64_t unit : barrier.losers) {
      const auto i = static_cast<std::size_t>(unit);
      if (phase.units[i].rung == rung && !phase.flags[i].stopped && !phase.units[i].settled) settled.push_back(unit);
    }
    if (keeps_all) settled.clear();
    Admitted now = admitted(phase, budget, next, rung + 1);
    // Who goes waits for places, who stays does not: apart, so that the two are the same decisions in every fleet.
    if (phase.setup->search.parallel > 0 && !settled.empty()) now.units.clear();
    if (!now.units.empty() || !settled.empty()) {
      const std::string name = to_string(phase.setup->search.advance.rule);
      return RuleAnswer{AdvanceDecision{now.units, rung + 1, settled}, name, 1};
    }
    if (now.no_place) {
      waits = true;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Barrier barrier_at(const PhaseCourse& phase, const std::vector<std::int64_t>& units, std::int64_t rung, bool closed) {
  Barrier out;
  std::vector<double> scores;
  bool all = true;
  for (const std::int64_t unit : units) {
    const auto i = static_cast<std::size_t>(unit);
    const UnitCourse& course = phase.units[i];
    if (course.rung < rung) {
      all = all && (rung > 0 || closed || phase.flags[i].stopped);
      continue;
    }
    out.members.push_back(unit);
    const auto& score = course.scores[static_cast<std::size_t>(rung)];
    // What was stopped here gives its place to the next.
    const bool gone = phase.flags[i].stopped && course.rung == rung;
    scores.push_back(gone || !score ? worst_score() : *score);
    if (score || phase.flags[i].stopped) {
      ++out.there;
    } else {
      all = false;
    }
  }
  out.open = all && (rung > 0 || closed);
  if (!out.open) return out;
  const Advance& advance = phase.setup->search.advance;
  const Share keep = advance.rule == AdvanceRule::kHyperband ? Share{1, advance.eta} : advance.keep;
  std::vector<bool> wins(out.members.size(), false);
  for (const std::size_t place : halved(scores, keep)) {
    wins[place] = true;
    out.winners.push_back(out.members[place]);
  }
  for (std::size_t i = 0; i < out.members.size(); ++i) {
    if (!wins[i] && std::isfinite(scores[i])) out.losers.push_back(out.members[i]);
  }
  return out;
}

std::optional<RuleAnswer> halved_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const bool closed = proposals_closed(phase, budget);
  const bool ordered = budget.ordered();
  if (ordered && !closed) return std::nullopt;
  for (std::int64_t bracket = 0; bracket < brackets_of(phase); ++bracket) {
    for (std::size_t group = 0; group < phase.members.size(); ++group) {
      const std::vector<std::int64_t> units = units_of(phase, group, bracket);
      const bool begun = std::all_of(units.begin(), units.end(), [&](std::int64_t unit) {
        const auto i = static_cast<std::size_t>(unit);
        return phase.units[i].rung >= 0 || phase.flags[i].stopped;
      });
      const bool external = phase.setup->search.proposer == Proposer::kExternal;
      bool waits = false;
      auto verdict = of_group(phase, budget, units, closed || (begun && !external), waits);
      if (verdict) return verdict;
      if (waits && ordered) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace locus

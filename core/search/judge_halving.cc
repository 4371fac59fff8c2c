// Successive halving and Hyperband: whole rungs are judged at once.
#include <algorithm>

#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

std::int64_t brackets_of(const PhaseCourse& phase) {
  return phase.setup->search.advance.rule == AdvanceRule::kHyperband ? static_cast<std::int64_t>(phase.ladders.size())
                                                                     : 1;
}

// Whoever goes on from an open barrier, in order of rank, and whoever never will, in order. Of those who go on the first alone where
// no more than that one is asked about.
struct Verdict {
  std::vector<std::int64_t> next, settled;
};
Verdict verdict_at(const PhaseCourse& phase, const SearchBudgetLeft& budget, const RungStandings& at,
                   std::int64_t rung) {
  Verdict out;
  const Share keep = share_of(phase);
  const auto members = static_cast<std::int64_t>(at.all.size());
  const auto places = static_cast<std::size_t>(std::max<std::int64_t>(1, members * keep.numerator / keep.denominator));
  const auto ahead = [&](const Ranking& of) {
    return places < at.all.size() ? of.before(at.all.at(places)) : of.size();
  };
  const std::size_t winners = ahead(at.standing);
  if (winners > 0) {
    const std::int64_t first = at.standing.at(0).unit;
    const bool one = phase.setup->search.parallel > 0 || !budget.fits({first}, rung + 1);
    out.next = at.standing.units(0, one ? 1 : winners);
  }
  // Where trainings have ended, nothing waits to be released.
  if (phase.of_seeds() || phase.of_rungs()) return out;
  out.settled = at.unsettled.units(ahead(at.unsettled), at.unsettled.size());
  std::sort(out.settled.begin(), out.settled.end());
  return out;
}

// The first verdict that one group of a bracket is due; `waits`: a later one is to come.
std::optional<RuleAnswer> of_group(const PhaseCourse& phase, const SearchBudgetLeft& budget,
                                   const LadderStandings& units, std::int64_t bracket, bool closed, bool& waits) {
  const std::int64_t top = std::ssize(phase.ladders[static_cast<std::size_t>(bracket)]) - 1;
  for (std::int64_t rung = 0; rung < top; ++rung) {
    if (!barrier_at(units, rung, closed).open) {
      waits = true;
      return std::nullopt;
    }
    if (static_cast<std::size_t>(rung) >= units.rungs.size()) continue;
    const Verdict verdict = verdict_at(phase, budget, units.rungs[static_cast<std::size_t>(rung)], rung);
    Admitted now = admitted(phase, budget, verdict.next, rung + 1);
    // Who goes waits for places, who stays does not: apart, so that the two are the same decisions in every fleet.
    if (phase.setup->search.parallel > 0 && !verdict.settled.empty()) now.units.clear();
    if (!now.units.empty() || !verdict.settled.empty()) {
      const std::string name = to_string(phase.setup->search.advance.rule);
      return RuleAnswer{AdvanceDecision{now.units, rung + 1, verdict.settled}, name, 1};
    }
    if (now.no_place) {
      waits = true;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Share share_of(const PhaseCourse& phase) {
  const Advance& advance = phase.setup->search.advance;
  return advance.rule == AdvanceRule::kHyperband ? Share{1, advance.eta} : advance.keep;
}

Barrier barrier_at(const LadderStandings& units, std::int64_t rung, bool closed) {
  Barrier out;
  if (static_cast<std::size_t>(rung) < units.rungs.size()) {
    const RungStandings& at = units.rungs[static_cast<std::size_t>(rung)];
    out.members = static_cast<std::int64_t>(at.all.size());
    out.there = at.there;
  }
  out.open = out.there == out.members && (rung > 0 || closed);
  return out;
}

std::optional<RuleAnswer> halved_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const bool closed = proposals_closed(phase, budget);
  const bool ordered = budget.ordered();
  if (ordered && !closed) return std::nullopt;
  for (std::int64_t bracket = 0; bracket < brackets_of(phase); ++bracket) {
    for (std::size_t group = 0; group < phase.members().size(); ++group) {
      const LadderStandings* units = phase.standings.ladder(static_cast<std::int64_t>(group), bracket);
      if (units == nullptr) continue;
      const bool begun = units->idle == 0 && phase.setup->search.proposer != Proposer::kExternal;
      bool waits = false;
      auto verdict = of_group(phase, budget, *units, bracket, closed || begun, waits);
      if (verdict) return verdict;
      if (waits && ordered) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace locus

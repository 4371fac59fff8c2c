// The next decision of a search, whatever its rule.
#include "core/search/judge.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

std::optional<RuleAnswer> advanced_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  switch (phase.setup->search.advance.rule) {
    case AdvanceRule::kNone:
      return std::nullopt;
    case AdvanceRule::kHalve:
    case AdvanceRule::kHyperband:
      return halved_next(phase, budget);
    case AdvanceRule::kAsha:
      return climbing_next(phase, budget);
    case AdvanceRule::kRace:
      break;
  }
  return raced_next(phase, budget);
}

// How each group's race came out.
std::string race_ends(const PhaseCourse& phase) {
  std::vector<std::string> out;
  for (std::size_t group = 0; group < phase.members().size(); ++group) {
    const RaceCourse race = race_of(phase, static_cast<std::int64_t>(group));
    std::vector<std::string> names;
    for (const std::int64_t unit : race.live) names.push_back(phase.name(unit));
    if (names.empty()) {
      out.emplace_back("nobody is left of " + phase.setup->groups[group]);
    } else if (race.decided) {
      out.push_back(names.front() + " won after " + counted(race.seeds, "seed"));
    } else {
      out.push_back("undecided between " + joined(names) + " after " + counted(race.seeds, "seed"));
    }
  }
  return joined(out, "; ");
}

}  // namespace

RuleAnswer ended_now(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const auto all = static_cast<std::int64_t>(phase.units.size());
  const std::int64_t finished = phase.standings.in_state(UnitState::kFinished),
                     failed = phase.standings.in_state(UnitState::kFailed);
  std::string reason;
  const bool race = phase.setup->search.advance.rule == AdvanceRule::kRace;
  const bool open = phase.next_proposal().has_value() ||
                    (phase.setup->search.proposer == Proposer::kExternal && !phase.all_proposed());
  if (!budget.closed().empty()) {
    reason = budget.closed();
  } else if (open) {
    reason = budget.limit();
  } else if (all > 0 && failed == all) {
    reason = "nobody is left: " + (all == 1 ? std::string("the only unit") : "all " + std::to_string(all) + " units") +
             " failed";
  } else if (race) {
    reason = race_ends(phase);
  } else {
    reason = std::to_string(finished) + " of " + counted(all, "unit") + " got to the end";
    if (failed > 0) reason += ", " + std::to_string(failed) + " failed";
  }
  return {EndDecision{reason}, "end", 1};
}

std::optional<RuleAnswer> judge(const Fold& fold, double slot_hours) {
  const auto place = fold.present();
  if (!place || fold.phase_ended(*place)) return std::nullopt;
  const PhaseCourse& phase = fold.course(*place);
  const SearchBudgetLeft budget(phase, slot_hours);
  if (auto verdict = stopped_between(phase)) return verdict;
  // Where the order of verdicts matters, everybody begins before anybody goes on.
  if (budget.ordered() && phase.setup->search.advance.rule != AdvanceRule::kAsha) {
    if (auto verdict = proposed_next(phase, budget)) return verdict;
  }
  if (auto verdict = advanced_next(phase, budget)) return verdict;
  if (auto verdict = proposed_next(phase, budget)) return verdict;
  if (phase.running() > 0 || !proposals_closed(phase, budget)) return std::nullopt;
  if (phase.setup->choose && !phase.choice) return chosen_now(phase);
  return ended_now(phase, budget);
}

namespace {

// What a choice says to people beside it is no verdict, and may be said better by another build.
DecisionRow without_notes(const DecisionRow& row) {
  auto said = read(row);
  auto* choice = said.ok() ? std::get_if<ChooseDecision>(&*said) : nullptr;
  if (choice == nullptr) return row;
  for (ChosenCandidate& one : choice->chosen) one.note.clear();
  return written(*choice);
}

}  // namespace

std::optional<std::string> disagreement(const Fold& before, const DecisionRow& row) {
  const auto said = read(row);
  if (!said.ok()) return std::string(said.status().message());
  const bool of_rules = std::holds_alternative<ProposeDecision>(*said) ||
                        std::holds_alternative<AdvanceDecision>(*said) || std::holds_alternative<StopDecision>(*said) ||
                        std::holds_alternative<ChooseDecision>(*said) || std::holds_alternative<EndDecision>(*said);
  if (!of_rules) return std::nullopt;
  const std::string here = "decision " + std::to_string(row.number) + ", " + row.kind + " " + row.json;
  const auto place = before.present();
  if (!place) return here + ": no phase has begun";
  if (row.rule.empty()) {  // a client's or a person's
    if (std::holds_alternative<ProposeDecision>(*said) && before.setup(*place).search.proposer == Proposer::kExternal)
      return std::nullopt;
    return here + ": no rule and no client answered it";
  }
  std::optional<std::string> out;
  // What was spent in slot hours is not in the log: either answer may have been the right one.
  const bool hours = before.setup(*place).search.budget.slot_hours.has_value();
  for (const double spent : {0.0, std::numeric_limits<double>::infinity()}) {
    const std::optional<RuleAnswer> due = judge(before, spent);
    if (!due) {
      out = here + ": the rules wait there";
    } else {
      const DecisionRow expected = written(due->decision);
      const bool equal = expected.kind == row.kind && without_notes(expected).json == without_notes(row).json;
      const bool same = equal && due->rule == row.rule && static_cast<std::int64_t>(*place) == row.phase;
      if (same && due->revision == row.rule_revision) return std::nullopt;
      out = same ? here + ": revision " + std::to_string(row.rule_revision) + " of the rule '" + row.rule +
                       "' is not the one of this build, which cannot check it"
                 : here + " by the rule '" + row.rule + "': it should be " + expected.kind + " " + expected.json +
                       " by the rule '" + due->rule + "'";
    }
    if (!hours) break;
  }
  return out;
}

}  // namespace locus

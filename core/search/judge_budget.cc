// What may still be granted: budgets, places, and proposals.
#include <cmath>
#include <cstdio>
#include <set>

#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

// Epochs add up in floating point.
constexpr double kRounding = 1e-9;

// A value that reaches the target: of the first unit that has one.
std::optional<double> reached(const PhaseCourse& phase) {
  const auto& units = phase.standings.reaching();
  return units.empty() ? std::nullopt : phase.reached(*units.begin());
}

}  // namespace

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

SearchBudgetLeft::SearchBudgetLeft(const PhaseCourse& phase, double slot_hours) : phase_(phase) {
  const SearchBudget& budget = phase.setup->search.budget;
  if (budget.slot_hours && slot_hours >= *budget.slot_hours) {
    closed_ = "the budget of " + shown(*budget.slot_hours) + " slot hours is spent";
  } else if (budget.target) {
    const auto value = reached(phase);
    const std::string metric = budget.target->metric.empty() ? phase.setup->metric : budget.target->metric;
    if (value && budget.target->at_least)
      closed_ =
          "the target is reached: " + metric + " " + shown(*value) + " is at least " + shown(*budget.target->at_least);
    if (value && budget.target->at_most)
      closed_ =
          "the target is reached: " + metric + " " + shown(*value) + " is at most " + shown(*budget.target->at_most);
  }
}

bool SearchBudgetLeft::fits(const std::vector<std::int64_t>& units, std::int64_t rung) const {
  if (!closed_.empty()) return false;
  const SearchBudget& budget = phase_.setup->search.budget;
  Fold::Spent sum = phase_.spent;
  std::set<std::int64_t> cells;
  for (const std::int64_t unit : units) {
    const auto i = static_cast<std::size_t>(unit);
    const Fold::Spent before = phase_.cost(unit, phase_.units[i].rung), after = phase_.cost(unit, rung);
    sum.stages += after.stages - before.stages;
    sum.epochs += after.epochs - before.epochs;
    const std::int64_t cell = phase_.setup->units[i].cell;
    if (!phase_.begun.contains(cell) && cells.insert(cell).second) ++sum.proposals;
  }
  if (budget.proposals && sum.proposals > *budget.proposals && sum.proposals > phase_.spent.proposals) return false;
  if (budget.stages && sum.stages > *budget.stages) return false;
  return !budget.epochs || sum.epochs <= *budget.epochs + kRounding;
}

bool SearchBudgetLeft::fits_more(std::int64_t cells) const {
  if (!closed_.empty()) return false;
  const SearchBudget& budget = phase_.setup->search.budget;
  // What a unit to come costs is what the first of the list does, at least one training.
  const Fold::Spent one = phase_.units.empty() ? Fold::Spent{1, 1, 0} : phase_.cost(0, 0);
  const Fold::Spent& spent = phase_.spent;
  if (budget.proposals && spent.proposals + cells > *budget.proposals) return false;
  if (budget.stages && spent.stages + cells * one.stages > *budget.stages) return false;
  return !budget.epochs || spent.epochs + static_cast<double>(cells) * one.epochs <= *budget.epochs + kRounding;
}

std::string SearchBudgetLeft::limit() const {
  if (!closed_.empty()) return closed_;
  const SearchBudget& budget = phase_.setup->search.budget;
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (budget.proposals) add(std::to_string(phase_.spent.proposals) + " of " + counted(*budget.proposals, "proposal"));
  if (budget.stages) add(std::to_string(phase_.spent.stages) + " of " + counted(*budget.stages, "training"));
  if (budget.epochs) add(shown(phase_.spent.epochs) + " of " + shown(*budget.epochs) + " epochs");
  return "the budget leaves no room for the next: " + out + " are granted";
}

bool SearchBudgetLeft::ordered() const {
  const SearchBudget& budget = phase_.setup->search.budget;
  return budget.proposals || budget.stages || budget.epochs;
}

Admitted admitted(const PhaseCourse& phase, const SearchBudgetLeft& budget, const std::vector<std::int64_t>& wanted,
                  std::int64_t rung) {
  Admitted out;
  const std::int64_t parallel = phase.setup->search.parallel;
  if (wanted.empty()) return out;
  if (parallel > 0) {
    // A budget that does not reach them is said first: waiting for a place would change nothing.
    if (!budget.fits({wanted.front()}, rung)) {
      out.no_budget = true;
    } else if (phase.running() >= parallel) {
      out.no_place = true;
    } else {
      out.units = {wanted.front()};
    }
    return out;
  }
  if (!budget.fits({wanted.front()}, rung)) {
    out.no_budget = true;
    return out;
  }
  if (budget.fits(wanted, rung)) {
    out.units = wanted;
    return out;
  }
  // By halves: whether a prefix fits is monotone.
  std::size_t good = 1, bad = wanted.size();
  while (bad - good > 1) {
    const std::size_t half = (good + bad) / 2;
    const std::vector<std::int64_t> prefix(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(half));
    (budget.fits(prefix, rung) ? good : bad) = half;
  }
  out.units.assign(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(good));
  out.no_budget = true;
  return out;
}

bool proposals_closed(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  if (const auto next = phase.next_proposal()) return !budget.fits({*next}, 0);
  return phase.all_proposed() || !budget.fits_more(1);
}

std::optional<RuleAnswer> proposed_next(const PhaseCourse& phase, const SearchBudgetLeft& budget) {
  const auto first = phase.next_proposal();
  if (!first || !budget.fits({*first}, 0)) return std::nullopt;
  std::vector<std::int64_t> waiting = {*first};
  const bool one = phase.setup->search.parallel > 0;
  for (std::int64_t unit = *first + 1; !one && static_cast<std::size_t>(unit) < phase.units.size(); ++unit) {
    const auto i = static_cast<std::size_t>(unit);
    if (phase.units[i].rung < 0 && phase.units[i].bracket >= 0 && !phase.flags[i].stopped) waiting.push_back(unit);
  }
  const Admitted now = admitted(phase, budget, waiting, 0);
  if (now.units.empty()) return std::nullopt;
  return RuleAnswer{ProposeDecision{now.units, {}, Json::object()}, "propose", 1};
}

std::optional<std::string> refuses_proposals(const Fold& fold, std::int64_t cells, double slot_hours) {
  const auto place = fold.present();
  if (!place || fold.phase_ended(*place)) return "the search has ended";
  const PhaseCourse& phase = fold.course(*place);
  const Search& search = phase.setup->search;
  if (search.proposer != Proposer::kExternal)
    return "the search makes its own proposals (propose: " + std::string(to_string(search.proposer)) + ")";
  const std::int64_t running = phase.running();
  if (search.parallel > 0 && running + cells > search.parallel)
    return std::to_string(running) + " of " + counted(search.parallel, "proposal") + " at a time are unfinished";
  if (search.proposals > 0 &&
      static_cast<std::int64_t>(phase.units.size()) + cells >
          search.proposals * static_cast<std::int64_t>(std::max<std::size_t>(1, phase.members().size())))
    return "the search takes " + counted(search.proposals, "proposal") + " of each group";
  const SearchBudgetLeft budget(phase, slot_hours);
  if (!budget.fits_more(cells)) return budget.limit();
  return std::nullopt;
}

}  // namespace locus

// What a phase chooses: the candidate that the contract's metric puts first, in each group.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

using Block = std::pair<std::size_t, std::size_t>;  // place among the candidate's cells, seed
struct Candidate {
  std::size_t place = 0;                      // among those of its group
  std::map<Block, double> values;             // larger better; what is not finite is worst_score()
  bool whole = true;                          // nothing that it must have is missing
  std::map<std::size_t, std::int64_t> seeds;  // of each cell, that have a value
};

bool race_rule(const PhaseCourse& phase) { return phase.setup->search.advance.rule == AdvanceRule::kRace; }

// Whether the unit's values count: it got to the end, or it is left of a race.
bool counts(const PhaseCourse& phase, std::int64_t unit) {
  const auto i = static_cast<std::size_t>(unit);
  const UnitCourse& course = phase.units[i];
  if (course.rung < 0 || phase.flags[i].stopped || course.settled) return false;
  if (race_rule(phase)) return course.state == UnitState::kParked || course.state == UnitState::kFinished;
  return course.rung == phase.top(unit) && course.scores[static_cast<std::size_t>(course.rung)].has_value();
}

Candidate candidate_of(const PhaseCourse& phase, const SearchCandidate& terms, std::size_t place) {
  Candidate out;
  out.place = place;
  const bool all = phase.setup->search.advance.rule == AdvanceRule::kNone;  // nobody was meant to fall behind
  std::map<std::int64_t, std::size_t> cells, seed_of_cell;
  bool any = false;
  for (const std::int64_t unit : terms.units) {
    const std::int64_t cell = phase.setup->units[static_cast<std::size_t>(unit)].cell;
    const std::size_t at = cells.emplace(cell, cells.size()).first->second;
    const bool good = counts(phase, unit);
    const auto rung = std::max<std::int64_t>(0, phase.units[static_cast<std::size_t>(unit)].rung);
    out.seeds.emplace(at, 0);
    for (const std::int64_t trial : phase.trials_at(unit, all || !good ? phase.top(unit) : rung)) {
      const std::size_t seed = seed_of_cell[cell]++;
      const SeenValue* value = good ? phase.seen(trial, kToTheEnd) : nullptr;
      if (value != nullptr && value->value) {
        out.values[{at, seed}] = value->good() ? phase.turned(*value->value) : worst_score();
        ++out.seeds[at];
      } else if (good || all) {
        out.whole = false;
      }
    }
    any = any || good;
  }
  out.whole = out.whole && any;
  if (all) return out;
  // Where rules let units fall behind, cells that did are not missing.
  std::erase_if(out.seeds, [](const auto& cell) { return cell.second == 0; });
  return out;
}

bool admitted_to(const Candidate& one, const std::optional<std::int64_t>& at_least) {
  if (!at_least) return one.whole && !one.values.empty();
  return !one.seeds.empty() &&
         std::all_of(one.seeds.begin(), one.seeds.end(), [&](const auto& cell) { return cell.second >= *at_least; });
}

double mean_of_all(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.size() % 2 == 1 || values[half - 1] == values[half]) return values[half];
  return (values[half - 1] + values[half]) / 2;
}

// Mean ranks, 1 the best, of equal ones the middle; turned so that larger is better.
std::vector<double> rank_figures(const std::vector<Candidate>& left, const std::set<Block>& blocks) {
  std::set<std::size_t> cells;
  for (const Block& block : blocks) cells.insert(block.first);
  std::vector<double> out(left.size(), 0.0);
  for (const std::size_t cell : cells) {
    std::vector<double> means;
    for (const Candidate& one : left) {
      std::vector<double> values;
      for (const Block& block : blocks) {
        if (block.first == cell) values.push_back(one.values.at(block));
      }
      means.push_back(mean_of_all(values));
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      double rank = 1;
      for (std::size_t j = 0; j < left.size(); ++j) {
        if (j != i && means[j] > means[i]) rank += 1;
        if (j != i && means[j] == means[i]) rank += 0.5;
      }
      // Who diverged there has no rank among the others that could save it.
      out[i] -=
          std::isfinite(means[i]) ? rank / static_cast<double>(cells.size()) : std::numeric_limits<double>::infinity();
    }
  }
  return out;
}

// What compares the candidates over these blocks, larger better; without blocks that all have, each over its own.
std::vector<double> figures(const std::string& by, const std::vector<Candidate>& left, const std::set<Block>& blocks) {
  if (by == "rank" && !blocks.empty()) return rank_figures(left, blocks);
  std::vector<double> out;
  for (const Candidate& one : left) {
    std::vector<double> values;
    for (const auto& [block, value] : one.values) {
      if (blocks.empty() || blocks.contains(block)) values.push_back(value);
    }
    out.push_back(by == "median" ? median_of(values) : mean_of_all(values));
  }
  return out;
}

std::size_t first_best(const std::vector<double>& figures) {
  return static_cast<std::size_t>(std::max_element(figures.begin(), figures.end()) - figures.begin());
}

std::set<Block> shared_blocks(const std::vector<Candidate>& left) {
  std::set<Block> out;
  for (const auto& each : left.front().values) {
    const Block& block = each.first;
    if (std::all_of(left.begin(), left.end(), [&](const Candidate& one) { return one.values.contains(block); }))
      out.insert(block);
  }
  return out;
}

// How many seeds, each by itself, put `best` first.
void count_seeds(const std::string& by, const std::vector<Candidate>& left, const std::set<Block>& blocks,
                 std::size_t best, ChosenCandidate& out) {
  std::map<std::size_t, std::set<Block>> by_seed;
  for (const Block& block : blocks) by_seed[block.second].insert(block);
  out.seeds = static_cast<std::int64_t>(by_seed.size());
  for (const auto& [seed, of_seed] : by_seed) {
    if (first_best(figures(by, left, of_seed)) == best) ++out.agreed;
  }
}

// Why these candidates are not compared. Those that a rule was to leave behind are no loss.
std::string left_out(const PhaseCourse& phase, const SearchChoiceGroup& group,
                     const std::vector<const SearchCandidate*>& gone) {
  const std::string of = " of " + counted(static_cast<std::int64_t>(group.candidates.size()), "candidate");
  if (phase.setup->search.advance.rule == AdvanceRule::kNone)
    return std::to_string(gone.size()) + of +
           (gone.size() == 1 ? " lacks seeds and is out" : " lack seeds and are out");
  const auto failed = static_cast<std::size_t>(std::count_if(gone.begin(), gone.end(), [&](const auto* candidate) {
    return !candidate->units.empty() &&
           std::all_of(candidate->units.begin(), candidate->units.end(), [&](std::int64_t unit) {
             return phase.units[static_cast<std::size_t>(unit)].state == UnitState::kFailed;
           });
  }));
  std::string out;
  if (gone.size() > failed) out = "the rule left " + std::to_string(gone.size() - failed) + of + " behind on the way";
  if (failed > 0) out += (out.empty() ? "" : "; ") + std::to_string(failed) + (out.empty() ? of : "") + " failed";
  return out;
}

ChosenCandidate chosen_of_group(const PhaseCourse& phase, const SearchChoiceTerms& terms,
                                const SearchChoiceGroup& group) {
  ChosenCandidate out;
  out.group = group.assignment;
  std::vector<Candidate> left;
  std::vector<const SearchCandidate*> gone;
  for (std::size_t i = 0; i < group.candidates.size(); ++i) {
    Candidate one = candidate_of(phase, group.candidates[i], i);
    admitted_to(one, terms.at_least) ? left.push_back(std::move(one)) : gone.push_back(&group.candidates[i]);
  }
  if (!gone.empty()) out.note = left_out(phase, group, gone);
  if (left.empty()) {
    out.note = "nobody is left to choose: " + (out.note.empty() ? "there are no candidates" : out.note);
    return out;
  }
  const std::set<Block> blocks = shared_blocks(left);
  const std::vector<double> values = figures(terms.by, left, blocks);
  const std::size_t best = first_best(values);
  if (!std::isfinite(values[best])) {
    out.note = "nobody is left to choose: every candidate that is whole diverged";
    return out;
  }
  const bool ranks = terms.by == "rank" && !blocks.empty();
  out.candidate = group.candidates[left[best].place].assignment;
  out.value = ranks ? -values[best] : phase.turned(values[best]);
  std::optional<double> next;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != best && std::isfinite(values[i])) next = std::max(next.value_or(values[i]), values[i]);
  }
  if (next) out.margin = values[best] - *next;
  count_seeds(terms.by, left, blocks, best, out);
  if (blocks.empty()) {
    out.note += (out.note.empty() ? "" : "; ") + std::string("no seed is common to all, so each has its own");
    out.seeds = static_cast<std::int64_t>(left[best].values.size());
  }
  if (race_rule(phase) && left.size() > 1)
    out.note += (out.note.empty() ? "" : "; ") + std::string("the race is undecided between ") +
                counted(static_cast<std::int64_t>(left.size()), "candidate") + ": the largest figure of them";
  return out;
}

}  // namespace

RuleAnswer chosen_now(const PhaseCourse& phase) {
  ChooseDecision out;
  const SearchChoiceTerms& terms = *phase.setup->choose;
  for (const SearchChoiceGroup& group : terms.groups) out.chosen.push_back(chosen_of_group(phase, terms, group));
  return {std::move(out), "choose-" + terms.by, 1};
}

}  // namespace locus

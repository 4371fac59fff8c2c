// The log of a search read a second time for the plain rules (plain.h): what has been sent where and seen, and what a budget allows.
// For cells, `kStepsPerEpoch` steps an epoch, and rungs by epochs or seeds.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/search/decision.h"
#include "tests/core/search/history.h"

namespace locus::search_tests {

// Units as text: "[3 4]".
inline std::string listed(const std::vector<std::int64_t>& units) {
  std::string out = "[";
  for (const std::int64_t unit : units) out += (out.size() > 1 ? " " : "") + std::to_string(unit);
  return out + "]";
}

class PlainLog {
 protected:
  explicit PlainLog(const std::vector<DecisionRow>& log) {
    for (const DecisionRow& row : log) take(*read(row), !row.rule.empty());
  }

  using Unit = std::int64_t;
  static constexpr double kWorst = -std::numeric_limits<double>::infinity();

  void take(const SearchDecision& decision, bool of_rules) {
    ++now_;
    if (const auto* one = std::get_if<BeginDecision>(&decision)) {
      setup_ = one->setup;
      const std::size_t n = setup_.units.size();
      sent_.assign(n, -1), stopped_.assign(n, false), settled_.assign(n, false);
    } else if (const auto* one = std::get_if<ObserveDecision>(&decision)) {
      const auto key = std::pair(one->trial, one->step);
      values_[key] = one->value;
      if (!first_.contains(key)) first_[key] = now_;
      if (one->step > 0) grown_.insert(unit_of(one->trial));
    } else if (const auto* one = std::get_if<ProposeDecision>(&decision)) {
      for (const Unit unit : one->units) sent_[at(unit)] = 0;
    } else if (const auto* one = std::get_if<AdvanceDecision>(&decision)) {
      for (const Unit unit : one->units) sent_[at(unit)] = one->rung, settled_[at(unit)] = false;
      for (const Unit unit : one->settled) settled_[at(unit)] = true;
    } else if (const auto* one = std::get_if<StopDecision>(&decision)) {
      for (const Unit unit : one->units) stopped_[at(unit)] = true;
    } else if (std::holds_alternative<EndDecision>(decision)) {
      ended_ = true;
    }
    if (of_rules && !std::holds_alternative<StopDecision>(decision)) grown_.clear();
  }

  static std::size_t at(Unit unit) { return static_cast<std::size_t>(unit); }
  Unit units() const { return static_cast<Unit>(setup_.units.size()); }
  Unit unit_of(std::int64_t trial) const {
    for (Unit unit = 0; unit < units(); ++unit) {
      const auto& trials = setup_.units[at(unit)].trials;
      if (std::find(trials.begin(), trials.end(), trial) != trials.end()) return unit;
    }
    return -1;
  }
  bool by_seeds() const {
    return setup_.search.advance.rule == AdvanceRule::kRace || setup_.search.advance.resource == SearchResource::kSeeds;
  }
  std::vector<Unit> of_group(std::int64_t group) const {
    std::vector<Unit> out;
    for (Unit unit = 0; unit < units(); ++unit) {
      if (setup_.units[at(unit)].group == group) out.push_back(unit);
    }
    return out;
  }
  std::int64_t groups() const { return static_cast<std::int64_t>(setup_.groups.size()); }
  // Of Hyperband; -1: there is no place left.
  std::int64_t bracket(Unit unit) const {
    if (setup_.search.advance.rule != AdvanceRule::kHyperband) return 0;
    std::int64_t before = 0;
    for (const Unit other : of_group(setup_.units[at(unit)].group)) before += other < unit ? 1 : 0;
    for (std::size_t b = 0; b < setup_.search.advance.brackets.size(); ++b) {
      if (before < setup_.search.advance.brackets[b].units.front()) return static_cast<std::int64_t>(b);
      before -= setup_.search.advance.brackets[b].units.front();
    }
    return -1;
  }
  std::vector<std::int64_t> rungs(Unit unit) const {
    const Advance& advance = setup_.search.advance;
    if (advance.rule == AdvanceRule::kNone) return {kEpochs};
    if (advance.rule == AdvanceRule::kHyperband)
      return advance.brackets[static_cast<std::size_t>(std::max<std::int64_t>(0, bracket(unit)))].rungs;
    if (advance.rule != AdvanceRule::kRace) return advance.rungs;
    std::vector<std::int64_t> out;
    const auto k = static_cast<std::int64_t>(of_group(setup_.units[at(unit)].group).size());
    if (k == 1) return {advance.race.terms.first};
    if (advance.race.rule != RaceRule::kHalving) {
      for (std::int64_t seeds = advance.race.terms.first; seeds <= advance.race.most; ++seeds) out.push_back(seeds);
      return out;
    }
    const auto rounds = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(k))));
    std::int64_t live = k, seeds = 0;
    for (std::int64_t round = 0; round < rounds; ++round) {
      seeds = std::min(advance.race.most, seeds + advance.race.budget / (live * rounds));
      out.push_back(seeds);
      live -= live / 2;
    }
    return out;
  }
  bool last(Unit unit, std::int64_t rung) const { return at(rung) + 1 == rungs(unit).size(); }
  std::int64_t step(Unit unit, std::int64_t rung) const {
    if (by_seeds() || last(unit, rung)) return 0;
    return static_cast<std::int64_t>(static_cast<double>(rungs(unit)[at(rung)]) * kStepsPerEpoch);
  }
  std::size_t seeds(Unit unit, std::int64_t rung) const {
    const std::size_t all = setup_.units[at(unit)].trials.size();
    return by_seeds() ? std::min(all, at(rungs(unit)[at(rung)])) : all;
  }
  std::optional<double> score(Unit unit, std::int64_t rung) const {
    double sum = 0;
    for (std::size_t i = 0; i < seeds(unit, rung); ++i) {
      const auto found = values_.find({setup_.units[at(unit)].trials[i], step(unit, rung)});
      if (found == values_.end()) return std::nullopt;
      sum += found->second ? *found->second : std::nan("");
    }
    if (!std::isfinite(sum)) return kWorst;
    return (setup_.maximize ? 1 : -1) * (sum / static_cast<double>(seeds(unit, rung)));
  }
  int came(Unit unit, std::int64_t rung) const {  // when its score became known
    int out = 0;
    for (std::size_t i = 0; i < seeds(unit, rung); ++i)
      out = std::max(out, first_.at({setup_.units[at(unit)].trials[i], step(unit, rung)}));
    return out;
  }
  bool running(Unit unit) const {
    return sent_[at(unit)] >= 0 && !stopped_[at(unit)] && !settled_[at(unit)] && !score(unit, sent_[at(unit)]);
  }
  bool parked(Unit unit) const {
    const std::int64_t rung = sent_[at(unit)];
    if (rung < 0 || stopped_[at(unit)] || settled_[at(unit)] || last(unit, rung)) return false;
    const auto known = score(unit, rung);
    return known && std::isfinite(*known);
  }
  std::int64_t unfinished() const {
    std::int64_t out = 0;
    for (Unit unit = 0; unit < units(); ++unit) out += running(unit) ? 1 : 0;
    return out;
  }

  // ---- budget ----
  double epochs(Unit unit, std::int64_t rung) const {
    if (rung < 0) return 0;
    if (by_seeds()) return static_cast<double>(seeds(unit, rung) * kEpochs);
    const Advance& advance = setup_.search.advance;
    const bool ahead = advance.rule == AdvanceRule::kAsha && !advance.park;
    const std::vector<std::int64_t> all = rungs(unit);
    return static_cast<double>(all[std::min(all.size() - 1, at(rung) + (ahead ? 1 : 0))]) *
           static_cast<double>(seeds(unit, rung));
  }
  bool affordable(const std::vector<Unit>& more, std::int64_t rung) const {
    double all_epochs = 0;
    std::int64_t trainings = 0, cells = 0;
    for (Unit unit = 0; unit < units(); ++unit) {
      const bool now = std::find(more.begin(), more.end(), unit) != more.end();
      const std::int64_t to = now ? rung : sent_[at(unit)];
      all_epochs += epochs(unit, to);
      if (to >= 0) trainings += static_cast<std::int64_t>(seeds(unit, to)), ++cells;
    }
    const SearchBudget& budget = setup_.search.budget;
    if (budget.epochs && all_epochs > *budget.epochs + 1e-6) return false;
    if (budget.stages && trainings > *budget.stages) return false;
    return !budget.proposals || rung > 0 || cells <= *budget.proposals;
  }
  // Of these, in order, those that may be sent now; `why`: what the next of them lacks.
  enum class Lacks { kNothing, kPlace, kBudget };
  std::vector<Unit> allowed(const std::vector<Unit>& wanted, std::int64_t rung, Lacks& why) const {
    why = Lacks::kNothing;
    const std::int64_t parallel = setup_.search.parallel;
    std::vector<Unit> out;
    for (const Unit unit : wanted) {
      std::vector<Unit> more = out;
      more.push_back(unit);
      if (!affordable(more, rung)) {
        why = Lacks::kBudget;
        return out;
      }
      if (parallel > 0 && unfinished() >= parallel) {
        why = Lacks::kPlace;
        return {};
      }
      out = more;
      if (parallel > 0) return out;
    }
    return out;
  }
  std::vector<Unit> waiting() const {
    std::vector<Unit> out;
    for (Unit unit = 0; unit < units(); ++unit) {
      if (sent_[at(unit)] < 0 && bracket(unit) >= 0) out.push_back(unit);
    }
    return out;
  }
  bool closed() const { return waiting().empty() || !affordable({waiting().front()}, 0); }
  std::string propose() const {
    Lacks why{};
    const auto now = allowed(waiting(), 0, why);
    return now.empty() ? "" : "propose " + listed(now);
  }

  SearchSetup setup_;
  std::vector<std::int64_t> sent_;
  std::vector<bool> stopped_, settled_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::optional<double>> values_;  // (trial, step)
  std::map<std::pair<std::int64_t, std::int64_t>, int> first_;                     // when it was first observed
  std::set<Unit> grown_;
  bool ended_ = false;
  int now_ = 0;
};

}  // namespace locus::search_tests

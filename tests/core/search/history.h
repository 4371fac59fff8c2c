// Searches made up for tests, and the histories they lead to: values come when a test says so.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/search/course.h"
#include "core/search/fold.h"
#include "core/search/judge.h"

namespace locus::search_tests {

inline constexpr double kStepsPerEpoch = 10;
inline constexpr std::int64_t kEpochs = 27;

// `units` cells in each of `groups` groups, of `seeds` trials each, numbered cell by cell. Proposal by proposal, as searches begin
// them.
inline SearchSetup setup_of_cells(std::int64_t units, std::int64_t seeds = 1, std::int64_t groups = 1) {
  SearchSetup out;
  for (std::int64_t group = 0; group < groups; ++group)
    out.groups.push_back(groups == 1 ? "{}" : R"({"prior":)" + std::to_string(group) + "}");
  std::int64_t trial = 0, cell = 0;
  for (std::int64_t proposal = 0; proposal < units; ++proposal) {
    for (std::int64_t group = 0; group < groups; ++group) {
      SearchUnitRow row{group, proposal, cell++, {}};
      for (std::int64_t seed = 0; seed < seeds; ++seed) row.trials.push_back(trial++);
      out.units.push_back(std::move(row));
    }
  }
  out.metric = "top1";
  out.split = "validation";
  out.steps_per_epoch = kStepsPerEpoch;
  out.last_step = static_cast<std::int64_t>(kEpochs * kStepsPerEpoch);
  out.validate_every = 1;
  return out;
}

inline SearchSetup halving_setup(std::int64_t units, std::int64_t seeds = 1, std::int64_t groups = 1) {
  SearchSetup out = setup_of_cells(units, seeds, groups);
  out.search.advance.rule = AdvanceRule::kHalve;
  out.search.advance.rungs = {3, 9, kEpochs};
  return out;
}

inline SearchSetup asha_setup(std::int64_t units, std::int64_t seeds = 1, std::int64_t groups = 1) {
  SearchSetup out = halving_setup(units, seeds, groups);
  out.search.advance.rule = AdvanceRule::kAsha;
  return out;
}

// One choice over all units, each a candidate of its own.
inline void choose_among_all(SearchSetup& setup, const std::string& by = "mean") {
  SearchChoiceTerms terms;
  terms.by = by;
  terms.groups.push_back({"{}", {}});
  for (std::size_t i = 0; i < setup.units.size(); ++i) {
    terms.groups.front().candidates.push_back({R"({"lr":)" + std::to_string(i) + "}", {static_cast<std::int64_t>(i)}});
  }
  setup.choose = terms;
}

// A log that grows: what a test observes, and what the rules answer.
class History {
 public:
  explicit History(const SearchSetup& setup) { add(written(BeginDecision{setup})); }

  // Takes a row on, at its number; what is taken is checked to be readable.
  void add(DecisionRow row, std::int64_t phase = 0, std::int64_t generation = 0) {
    row.number = fold_.decided() + 1;
    row.phase = phase;
    row.generation = generation > 0 ? generation : std::max<std::int64_t>(1, fold_.generation());
    const absl::Status status = fold_.take(row);
    if (!status.ok()) broken_ = std::string(status.message());
    log_.push_back(std::move(row));
  }
  void add(const RuleAnswer& verdict) {
    DecisionRow row = written(verdict.decision);
    row.rule = verdict.rule;
    row.rule_revision = verdict.revision;
    add(std::move(row), static_cast<std::int64_t>(fold_.present().value_or(0)));
  }
  void observe(std::int64_t trial, std::int64_t step, std::optional<double> value, const std::string& metric = {}) {
    ObserveDecision one{trial, step, value};
    one.metric = metric;
    one.revises = fold_.observed(trial, step, metric);
    add(written(one), static_cast<std::int64_t>(fold_.present().value_or(0)));
  }
  // Lets the rules answer until they wait; how often they did.
  int settle(double slot_hours = 0) {
    int answers = 0;
    while (const auto verdict = judge(fold_, slot_hours)) {
      add(*verdict);
      if (++answers > 100'000 || !broken_.empty()) break;
    }
    return answers;
  }
  const Fold& fold() const { return fold_; }
  const std::vector<DecisionRow>& log() const { return log_; }
  const std::string& broken() const { return broken_; }  // empty: every row could be taken
  const UnitCourse& unit(std::int64_t unit) const { return fold_.units(0)[static_cast<std::size_t>(unit)]; }

 private:
  Fold fold_;
  std::vector<DecisionRow> log_;
  std::string broken_;
};

// The value of a trial at a step; nothing: it failed for good.
using World = std::function<std::optional<double>(std::int64_t trial, std::int64_t step)>;

// Observes all that is due at once, in trial order, until nothing is.
inline void run_to_the_end(History& history, const World& world) {
  history.settle();
  for (auto due = history.fold().due(); !due.empty(); due = history.fold().due()) {
    for (const DueValue& one : due) {
      const auto value = world(one.trial, one.step);
      if (value || !one.only_if_there) history.observe(one.trial, one.step, value, one.metric);
    }
    history.settle();
  }
}

// The same, unit by unit in an order that chance makes: all that a unit's next trial has to say comes at once.
inline void run_in_any_order(History& history, const World& world, std::mt19937_64& random) {
  history.settle();
  for (auto due = history.fold().due(); !due.empty(); due = history.fold().due()) {
    std::set<std::int64_t> trials;
    for (const DueValue& one : due) trials.insert(one.trial);
    const auto chosen = *std::next(trials.begin(), static_cast<std::ptrdiff_t>(random() % trials.size()));
    for (const DueValue& one : due) {
      if (one.trial != chosen) continue;
      const auto value = world(one.trial, one.step);
      if (value || !one.only_if_there) history.observe(one.trial, one.step, value, one.metric);
    }
    history.settle();
  }
}

// The decisions of the rules, told apart by kind and text.
inline std::multiset<std::string> verdicts(const History& history) {
  std::multiset<std::string> out;
  for (const DecisionRow& row : history.log()) {
    if (!row.rule.empty()) out.insert(row.kind + " " + row.json);
  }
  return out;
}

}  // namespace locus::search_tests

// What follows from the log of a search: the rules' answers to it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/search/fold.h"

namespace locus {

// A rule's answer, and its name and revision for the log.
struct RuleAnswer {
  SearchDecision decision;
  std::string rule;
  int revision = 1;
};

// The next decision that the rules make of the present phase: propose, advance, stop, choose or end; nothing while they wait.
// `slot_hours`: spent by ended attempts, for the budget of that name. Take it into the fold and ask again.
std::optional<RuleAnswer> judge(const Fold& fold, double slot_hours = 0);

// Why a client may not propose so many cells now: the search ended or makes its own, as many as it allows are unfinished, or a budget
// does not reach them. Nothing: it may.
std::optional<std::string> refuses_proposals(const Fold& fold, std::int64_t cells, double slot_hours = 0);

// Whether this row, already in the log after what `before` folds, is what its rule answers there: nothing, or what it should have been. Of asha,
// whose verdicts follow arrival, whether it is one of those it allows.
std::optional<std::string> disagreement(const Fold& before, const DecisionRow& row);

// For people, a sentence each: what the search waits for now ("rung 1: 22 of 32 are there, the best 10 go on").
std::vector<std::string> expected_next(const Fold& fold);
// Why a unit is where it is: "parked at epoch 3: 5th of 9, the first 3 go on".
std::string explain_unit(const Fold& fold, std::size_t phase, std::int64_t unit);

}  // namespace locus

// A search's log for people: what each decision says, whom it concerns, and how the best value grew with what was spent. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/search/fold.h"

namespace locus {

// The values of an assignment, as short as people write them: {"dataset":"vtab-dtd","prior":[{"violin":{}}]} -> "vtab-dtd, violin". Numbers and
// truths with their path. Empty for "{}".
std::string assignment_text(const std::string& assignment_json);

// The setup that the units of each row of a log are counted in: that of the last `begin` of its phase, with what clients have
// added since. Give it every row in order. Thread-compatible.
class SetupsSoFar {
 public:
  // DATA_LOSS for a row that says nothing of its kind, or is of a phase that has not begun.
  absl::StatusOr<SearchDecision> take(const DecisionRow& row);
  // Of the row's phase; nothing before it begins.
  const SearchSetup* of(std::int64_t phase) const;

 private:
  std::map<std::int64_t, SearchSetup> setups_;
};

// A sentence that says what a decision does.
std::string decision_text(const SearchSetup& setup, const SearchDecision& decision);
// Ordinals of the trials that it is of, ascending; those of all for a `begin`, none for a choice and an end.
std::vector<std::int64_t> trials_of(const SearchSetup& setup, const SearchDecision& decision);

// The best score of a group's units so far, when it was reached.
struct BestPoint {
  double epochs = 0;       // granted to the group until then
  double value = 0;        // the mean over the unit's trials, in the metric's own direction
  std::int64_t trial = 0;  // the first of the unit
};
// Of each group of a phase of this log: a point for each value that is better than all before, and one for what has been granted
// since. Scores are those at rungs, and results; what rules that stop between rungs have seen is not counted. DATA_LOSS as above.
absl::StatusOr<std::vector<std::vector<BestPoint>>> best_so_far(const Fold& fold, std::size_t phase,
                                                                std::span<const DecisionRow> log);

}  // namespace locus

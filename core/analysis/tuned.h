// Which proposal of a search stands for its group in a table, and which units were not sent to the end. One rule for leaderboard and
// pivot table. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/outline.h"
#include "core/search/fold.h"

namespace locus {

inline constexpr char kRaced[] = "raced", kStopped[] = "stopped", kParked[] = "parked";

// How the cells of a search stand that it did not send to the end, by ordinal: thrown out of a race or of halving over seeds
// ("raced"), stopped by a rule or a person, or parked at a rung. A number of such a cell came about by looking at it, so it is
// compared with nothing.
std::map<std::int64_t, std::string> standings(const Fold& fold);

// Values of cells on the split that selects, by row key.
struct CellSelection {
  double mean = 0;
  std::size_t seeds = 0;
};
using CellSelections = std::map<std::string, CellSelection>;

// The row keys of one cell for each group of the search: of those with all seeds and a finite mean, and that were sent to the
// end, the best mean on the split that selects; of equal ones the first. No other value is looked at. Nothing where there is
// no search, no group has several proposals, or some group has none that can be chosen yet.
std::optional<std::set<std::string>> chosen_cells(const Outline& outline, const CellSelections& selections,
                                                  const std::set<std::string>& not_to_the_end);

// The outline with those cells alone, compared group with group: the paths of the space are tuned, not factors any more.
Outline tuned_outline(const Outline& outline, const std::set<std::string>& chosen);

// "validation, the best of 32"; what a phase chose for rows that use it. Empty where nothing was chosen.
std::string chosen_by(const Outline& outline, bool one_row_a_group);

// Whether values of this metric and split are those that choose, so that the best of them reads high and no test of them holds:
// the contract's metric on the split that selects, where a search has several proposals or a phase chooses.
bool chooses_itself(const Outline& outline, const std::string& metric, const std::string& split);

// Over how many of the best seeds the mean of this metric and split is; 0: over all.
std::int64_t top_seeds(const MetricContract& contract, const std::string& metric, const std::string& split);

// What a reader of a table must know of its search: what was chosen by what, how high the best by itself reads, and what was left
// out of the tests. `standing`: how many rows stand so.
struct TableOfSearch {
  std::string metric, split;
  bool one_row_a_group = false;
  std::map<std::string, std::size_t> standing;
};
std::vector<std::string> search_warnings(const Outline& outline, const TableOfSearch& table);

}  // namespace locus

// What a search will run, before it does: exact for rules that wait, bounds for the others. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/search/search.h"

namespace locus {

// How many units of all groups get to a rung, at least and at most. Units that fail, and what the budget ends, are not
// foreseen: `least` may be undercut by them alone.
struct RungCount {
  std::int64_t rung = 0;  // epochs or seeds
  std::int64_t least = 0, most = 0;
};

struct SearchFigures {
  std::vector<std::vector<RungCount>> brackets;  // one; of Hyperband, its own
  std::int64_t units = 0;                        // of all groups
  std::int64_t least_trainings = 0, most_trainings = 0;
  double least_epochs = 0, most_epochs = 0;
  std::int64_t parked = 0;  // checkpoints of trainings that wait at a rung or were stopped, at most at one time
  bool exact() const { return least_epochs == most_epochs && least_trainings == most_trainings; }
};

// What the figures need of the experiment.
struct SearchSize {
  std::vector<std::int64_t> cells;  // of each group
  std::int64_t seeds = 1;           // of a cell
  double epochs = 0;                // of a whole training
  double validate_every = 1;        // epochs
};
SearchFigures figures_of(const Search& search, const SearchSize& size);

// The least work that lets a search judge anything: one unit to its first rung, in trainings and epochs.
struct FirstJudged {
  std::int64_t trainings = 0;
  double epochs = 0;
};
FirstJudged first_judged(const Search& search, const SearchSize& size);

}  // namespace locus

// The rules behind judge(), one file each, over a phase that has not ended. Pure; of core/search alone.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/search/course.h"
#include "core/search/judge.h"

namespace locus {

// "0.6133", six digits.
std::string shown(double value);
std::string counted(std::int64_t count, const std::string& noun);  // "1 unit", "3 units"

// What may still be granted.
class SearchBudgetLeft {
 public:
  SearchBudgetLeft(const PhaseCourse& phase, double slot_hours);
  // Why nothing at all is granted any more; empty: something may be.
  const std::string& closed() const { return closed_; }
  // Whether these units may be sent to the rung, all of them.
  bool fits(const std::vector<std::int64_t>& units, std::int64_t rung) const;
  // Whether a client may propose so many cells more.
  bool fits_more(std::int64_t cells) const;
  // The limit that keeps something out, a clause: "the budget of 120 epochs has 3 left".
  std::string limit() const;
  // How the order of verdicts could change who is served: then they are made in one order, whatever arrives first.
  bool ordered() const;

 private:
  const PhaseCourse& phase_;
  std::string closed_;
};

// Units that one decision may send to a rung now: of `wanted`, in order, as many as budget and free places allow; with `parallel`
// one, so that what is decided does not depend on how many places were free.
struct Admitted {
  std::vector<std::int64_t> units;
  bool no_place = false, no_budget = false;  // why the next of them is not among them
};
Admitted admitted(const PhaseCourse& phase, const SearchBudgetLeft& budget, const std::vector<std::int64_t>& wanted,
                  std::int64_t rung);

// Whether no further unit begins: all have, or the budget does not reach the next.
bool proposals_closed(const PhaseCourse& phase, const SearchBudgetLeft& budget);

// Each answers, or has nothing to say now.
std::optional<RuleAnswer> stopped_between(const PhaseCourse& phase);
// Whether a rule stops a unit between rungs by what is known of it: asked as that changes, so that PhaseCourse::stopping knows it.
bool stops_between(const PhaseCourse& phase, std::int64_t unit);
std::optional<RuleAnswer> proposed_next(const PhaseCourse& phase, const SearchBudgetLeft& budget);
std::optional<RuleAnswer> halved_next(const PhaseCourse& phase, const SearchBudgetLeft& budget);
std::optional<RuleAnswer> climbing_next(const PhaseCourse& phase, const SearchBudgetLeft& budget);
std::optional<RuleAnswer> raced_next(const PhaseCourse& phase, const SearchBudgetLeft& budget);
RuleAnswer chosen_now(const PhaseCourse& phase);
RuleAnswer ended_now(const PhaseCourse& phase, const SearchBudgetLeft& budget);

// The barrier of one group and bracket at a rung.
struct Barrier {
  std::int64_t members = 0;  // that were sent to the rung or further
  std::int64_t there = 0;    // of them, judged or stopped
  bool open = false;         // all are there, and none is to come
};
Barrier barrier_at(const LadderStandings& units, std::int64_t rung, bool closed);
// Of halving and Hyperband: who goes on at a barrier.
Share share_of(const PhaseCourse& phase);

// A race of one group as its values have it.
struct RaceCourse {
  std::vector<std::int64_t> live;  // units
  std::int64_t seeds = 0;          // that all live ones have run and were judged by
  bool decided = false;            // `live` holds the winner alone, or nobody
};
RaceCourse race_of(const PhaseCourse& phase, std::int64_t group);

}  // namespace locus

// Who stands where in a phase: counts and orders of its units that the rules ask for at every decision, kept as units change, so that a
// decision takes no look at all of them. Pure; of core/search alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/search/fold.h"
#include "core/search/pieces.h"
#include "core/search/ranking.h"

namespace locus {

// One rung of a group and bracket. Scores that are not finite rank as worst_score().
struct RungStandings {
  Ranking all;        // by halving: who was sent there; by asha: who has scores up to there
  Ranking standing;   // who may be sent on from there: a finite score, sent no further, not stopped; by asha parked
  Ranking unsettled;  // of them, whom no barrier has settled
  std::int64_t there = 0;  // of `all`, judged or stopped
};
struct LadderStandings {
  std::int64_t units = 0;
  std::int64_t idle = 0;  // have not begun, and nobody stopped them
  std::vector<RungStandings> rungs;
};

// A unit that came to a rung of asha without parking.
struct Arrival {
  std::int64_t unit = 0;
  std::int64_t as_good = 0;  // how many that came before it have its score or a better one
};
struct Arrivals {
  Pieces<Arrival> came;
  Ranking scores;                 // of all of them
  std::set<std::int64_t> parked;  // places among `came` of those that stand there still
};

// Of one phase. Thread-compatible.
class Standings {
 public:
  // Counts a unit as it is now, or no longer as it has been since it was.
  void take(const PhaseCourse& phase, std::int64_t unit) { count(phase, unit, 1); }
  void drop(const PhaseCourse& phase, std::int64_t unit) { count(phase, unit, -1); }

  std::int64_t in_state(UnitState state) const { return states_[static_cast<std::size_t>(state)]; }
  // Null: the group has no unit in that bracket.
  const LadderStandings* ladder(std::int64_t group, std::int64_t bracket) const;
  const std::set<std::int64_t>& reaching() const { return reaching_; }  // units with a value that reaches the target

  // ---- of median stopping: what the finished units of a group have at a step ----
  std::int64_t finished(std::int64_t group) const;
  // Linear between ranks, of those that have a value at this step, or at the one that is the same validation where `rate`, steps an
  // epoch, is another; nothing without one.
  std::optional<double> percentile(std::int64_t group, double rate, std::int64_t step, double percentile) const;

 private:
  struct Finished {
    std::int64_t units = 0;
    std::map<double, std::map<std::int64_t, Ranking>> at;  // steps an epoch -> step -> values
  };
  void count(const PhaseCourse& phase, std::int64_t unit, int by);
  void count_rungs(const PhaseCourse& phase, std::int64_t unit, int by);
  void count_climber(const PhaseCourse& phase, std::int64_t unit, int by);
  void count_finished(const PhaseCourse& phase, std::int64_t unit, int by);

  std::array<std::int64_t, 6> states_{};
  std::map<std::pair<std::int64_t, std::int64_t>, LadderStandings> ladders_;  // by group and bracket
  std::set<std::int64_t> reaching_;
  std::map<std::int64_t, Finished> finished_;  // by group
};

}  // namespace locus

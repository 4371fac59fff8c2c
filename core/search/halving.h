// Successive halving: who of those at a rung goes on to the next. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace locus {

// The score of what diverged or failed for good: below all others, and it never goes on.
double worst_score();

// A share of those at a rung, exact.
struct Share {
  std::int64_t numerator = 1, denominator = 3;
};

// Which of those that stand at a rung go on, by index and in order of rank: the best max(1, floor(n keep)) that have a finite
// score. Larger is better; equal scores go by index, so that the order of arrival decides nothing.
std::vector<std::size_t> halved(const std::vector<double>& scores, Share keep);

// A unit in asynchronous halving (Li et al. 2020, arXiv:1810.05934, algorithm 2).
struct Climber {
  std::size_t rung = 0;        // the highest it has been sent to
  bool there = false;          // parked at it with a score; otherwise on its way
  std::vector<double> scores;  // of the rungs it has reached
};
// The unit that a free slot sends one rung up: from the highest rung below the top down, the best of a rung that is among
// its best floor(n / eta) and stands there still; nothing where no unit may. `top` is the number of the last rung.
std::optional<std::size_t> promoted(const std::vector<Climber>& units, std::size_t top, std::int64_t eta);

// Whether the newest of the scores recorded at a rung, the last of the list, stops there at once instead of parking:
// unless its place, itself included, is below max(1, floor(n / eta)).
bool stops_at_rung(const std::vector<double>& recorded, std::int64_t eta);

// Rungs by what the resource is at them: least eta^k below `most`, then `most`; those of bracket `skip` leave the first out.
// All at least 1, eta at least 2.
std::vector<std::int64_t> geometric_rungs(std::int64_t least, std::int64_t most, std::int64_t eta,
                                          std::int64_t skip = 0);

// A bracket of Hyperband: how many units stand at each of its rungs.
struct Bracket {
  std::vector<std::int64_t> units, rungs;
};
// Brackets from the most aggressive one on, for rungs from `least` to `most` (Li et al. 2018, JMLR 18, algorithm 1; the table of
// that paper rounds (s_max + 1) / (s + 1) down before it multiplies, the algorithm does not, nor does this).
std::vector<Bracket> hyperband(std::int64_t most, std::int64_t eta, std::int64_t least = 1);

}  // namespace locus

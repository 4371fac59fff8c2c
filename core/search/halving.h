// Successive halving: shares, rungs and brackets. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace locus {

// The score of what diverged or failed for good: below all others, and it never goes on.
double worst_score();

// A share of those at a rung, exact.
struct Share {
  std::int64_t numerator = 1, denominator = 3;
};

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

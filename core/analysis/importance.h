// How much of the spread of a search's values each factor explains by itself. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace locus {

// A factor's value in every unit. Of an ordered one `at` is the number, or its logarithm; otherwise which value it is.
struct FactorColumn {
  std::string path;
  bool ordered = false;
  std::vector<double> at;
};

struct FactorShare {
  std::string path;
  double share = 0, low = 0, high = 0;  // within [0, 1]; NaN: too little is there to say
};

// The first-order Sobol index of every factor, Var(E[y | factor]) / Var(y), in the order given.
//
// The estimator is of the pick-freeze kind without designed pairs: units whose value of the factor is the same, or of an
// ordered one next to it, are as good as drawn twice under that value, so the mean product of their y estimates
// E[E[y | factor]^2] (F. Gamboa, P. Gremaud, T. Klein and A. Lagnoux, Bernoulli 28(4), 2022, who take the next rank; here
// floor(sqrt(values) / 2) ranks on either side, or the same value alone where each has three proposals or more). From it goes the mean product of
// all pairs, which is what a factor without effect has: that corrects for chance. Units of one proposal share all of the space,
// so they are never a pair; that keeps the groups of a search that share their proposals from lending each path what the whole
// proposal explains. In small full grids it errs toward 0, since units that share one factor differ in the others more than
// chance has it; and neighbors that are near without being equal take up to a quarter from what 32 proposals show of a smooth
// function of one number. A factor that acts through its interactions alone has share 0: that is what first order means.
//
// The interval is the estimate plus and minus the 97.5 % point of Student's t times the larger of two standard errors: the
// jackknife's that leaves out proposals, and that of `kShuffles` seeded permutations of the factor, under which it has no effect.
// The bootstrap would be wrong here: it repeats units, and neighbors with themselves (Z. Lin and F. Han, Biometrika 111, 2024).
//
// `proposals` says which units share one; each vector has an entry a unit, and values that are not finite must have been left out. NaN for a factor that does
// not vary, and for all below kUnitsLeast proposals or without spread.
inline constexpr int kShuffles = 200;
inline constexpr std::size_t kUnitsLeast = 8;
std::vector<FactorShare> importance(const std::vector<double>& values, const std::vector<std::int64_t>& proposals,
                                    const std::vector<FactorColumn>& factors, std::uint64_t seed);

}  // namespace locus

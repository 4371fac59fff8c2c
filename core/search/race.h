// Races over seeds: which of several candidates is best on average, with as few runs as possible. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace locus {

// Kim and Nelson's procedure (2001, ACM TOMACS 11(3), c = 1): with normal differences, whatever their correlation, the best
// is found with probability 1 - alpha or more wherever it leads by delta.
struct KimNelson {
  double delta = 0.5, alpha = 0.05;
  std::int64_t first = 5;  // seeds before anything is decided; at least 2

  // h^2 = 2 eta (first - 1), eta = ((2 alpha / (k - 1))^(-2 / (first - 1)) - 1) / 2, for k candidates, at least 2.
  double h_squared(std::int64_t candidates) const;
};

// Of a race so far.
struct RaceState {
  std::vector<std::size_t> live;  // candidates that are not out, in order
  std::int64_t seeds = 0;         // that all live ones have run
  bool decided = false;           // `winner` is
  std::size_t winner = 0;
};
// values[i][r]: of candidate i under seed r, larger better; a candidate's values end where it was thrown out. Replays the
// race seed by seed from the start, so that it follows from the values alone: after each seed from the first `first` on,
// candidate i is out if some live j leads by more than max(0, delta / 2 (h^2 S^2_ij / delta^2 - r)) in sums over r seeds, S^2
// being the variance of their differences over the first `first` seeds. It ends when one is left, or when r exceeds every
// h^2 S^2_ij / delta^2: then the largest mean wins, the first of equal ones. A value that is not finite puts its candidate
// out at once.
RaceState race(const KimNelson& rule, const std::vector<std::vector<double>>& values);

// Sequential halving (Karnin, Koren and Somekh 2013, ICML): ceil(log2 k) rounds; new seeds that each live candidate gets in
// the round, floor(budget / (live rounds)). 0 where the budget does not reach one seed for each in the first round.
std::int64_t seeds_of_round(std::int64_t budget, std::int64_t candidates, std::int64_t live);
// The better half of the live ones by mean, rounded up, in order of rank; equal means go by index.
std::vector<std::size_t> better_half(const std::vector<double>& means, const std::vector<std::size_t>& live);

}  // namespace locus

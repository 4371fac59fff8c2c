// What the exact sign-flip test cannot show: n pairs give no p below 2 / 2^n. Pure.
#pragma once

#include <string>
#include <vector>

namespace locus {

// The fewest pairs whose lowest p is at most `p`, which is above 0.
int pairs_to_reach(double p);

// Comparisons of one family with equally many pairs, which cannot be marked however clear the difference is.
struct OutOfReach {
  int pairs = 0, needed = 0;         // `needed`: how many pairs would do, the others having no fewer
  int comparisons = 0;               // of the whole family; 0: nothing is corrected for
  std::vector<std::size_t> members;  // indices into the pairs given
};
// `pairs` by comparison; 0: none is made. A comparison is out of reach when its p stays above `alpha`, after
// Holm's correction where `corrected`, even if every comparison were at its floor. Fewest pairs first.
std::vector<OutOfReach> out_of_reach(const std::vector<int>& pairs, double alpha, bool corrected);

// "with 5 pairs (WHICH) the sign-flip test cannot go below p = 0.0625, ...: no difference can be marked
// before 6 pairs"; `which` may be empty.
std::string sentence_of(const OutOfReach& group, const std::string& which);

}  // namespace locus

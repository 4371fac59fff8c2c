// Which comparisons the sign-flip test cannot mark.
#include "core/statistics/reach.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "core/statistics/samples.h"

namespace locus {
namespace {

// The least corrected p of every comparison, each with at least so many pairs.
std::vector<double> least_p(const std::vector<int>& pairs, int at_least, bool corrected) {
  std::vector<double> floors;
  for (const int n : pairs) floors.push_back(n == 0 ? kUndefined : sign_flip_floor(std::max(n, at_least)));
  return corrected ? holm(floors) : floors;
}

std::string count(int number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace

int pairs_to_reach(double p) {
  int pairs = 1;
  while (sign_flip_floor(pairs) > p) ++pairs;
  return pairs;
}

std::vector<OutOfReach> out_of_reach(const std::vector<int>& pairs, double alpha, bool corrected) {
  const auto made = static_cast<int>(std::count_if(pairs.begin(), pairs.end(), [](int n) { return n > 0; }));
  const std::vector<double> now = least_p(pairs, 0, corrected);
  std::map<int, OutOfReach> groups;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i] > 0 && now[i] > alpha) groups[pairs[i]].members.push_back(i);
  }
  std::vector<OutOfReach> out;
  for (auto& [n, group] : groups) {
    group.pairs = n;
    group.comparisons = corrected ? made : 0;
    group.needed = n;
    while (least_p(pairs, group.needed, corrected)[group.members.front()] > alpha) ++group.needed;
    out.push_back(std::move(group));
  }
  return out;
}

std::string sentence_of(const OutOfReach& group, const std::string& which) {
  char floor[32];
  std::snprintf(floor, sizeof floor, "%.4g", sign_flip_floor(group.pairs));
  return "with " + count(group.pairs, "pair") + (which.empty() ? "" : " (" + which + ")") +
         " the sign-flip test cannot go below p = " + floor +
         (group.comparisons > 1 ? ", corrected over " + count(group.comparisons, "comparison") : "") +
         ": no difference can be marked before " + count(group.needed, "pair");
}

}  // namespace locus

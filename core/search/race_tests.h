// Races that test: after each seed, whoever differs from the best is out. They promise nothing exact over the whole race, as a test after
// each seed errs more often than one (Birattari, Stuetzle, Paquete and Varrentrapp 2002, GECCO; Lopez-Ibanez et al. 2016, Operations
// Research Perspectives 3). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/search/race.h"

namespace locus {

struct RaceTests {
  double alpha = 0.05;
  std::int64_t first = 5;  // seeds before the first test; at least 2
};
// values as race() has them. After each seed from the first `first` on, the live candidates are compared with the one of them that has the
// largest mean by two-sided paired t tests, whose p are adjusted by Holm (1979, Scandinavian Journal of Statistics 6(2)); below
// alpha they are out. Equal differences are no evidence where they are zero, and beyond doubt otherwise.
RaceState t_race(const RaceTests& rule, const std::vector<std::vector<double>>& values);
// With Friedman's test over the live candidates' ranks, and where that rejects, Conover's comparison with the best sum of ranks (Conover 1999,
// Practical Nonparametric Statistics, 3rd ed., section 5.8). Two left: Wilcoxon's signed-rank test.
RaceState f_race(const RaceTests& rule, const std::vector<std::vector<double>>& values);

// The two-sided p of the paired t test; 1 for differences that are all zero, 0 for others without variance.
double paired_t_p(const std::vector<double>& a, const std::vector<double>& b);
// Adjusted for their number, in the same order.
std::vector<double> holm_adjusted(const std::vector<double>& p);
// The two-sided p of Wilcoxon's signed-rank test, exact with middle ranks for ties up to 50 differences that are not zero (the others are
// left out), by the normal approximation with Conover's correction for ties beyond.
double wilcoxon_p(const std::vector<double>& a, const std::vector<double>& b);

// Friedman's test and Conover's comparison over rows of blocks: ranks of candidates, 1 the best (the largest), middle ranks for ties.
struct FriedmanTest {
  std::vector<double> sums;     // of ranks, by candidate
  double p = 1;                 // from the chi-squared distribution
  double least_difference = 0;  // of two sums, at this alpha
};
FriedmanTest friedman(const std::vector<std::vector<double>>& blocks, double alpha);

}  // namespace locus

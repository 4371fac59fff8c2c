// Statistics of samples: mean, deviation, intervals and tests, which every table is made of. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace locus {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kConfidence = 0.95;  // of the intervals that are shown

double sample_mean(const std::vector<double>& x);
double sample_std(const std::vector<double>& x);                          // n - 1; NaN below two
double student_t_half_width(const std::vector<double>& x, double level);  // half of the two-sided interval's width
double student_t_quantile(double degrees, double level);                  // of |T|: half of the rest lies above it
double paired_t_p(const std::vector<double>& differences);                // two-sided; NaN without spread
// What every table, comparison and export says of a cell: n, mean, sample deviation, and Student's interval of the mean.
struct SampleSummary {
  int n = 0;
  double mean = kUndefined, std = kUndefined, low = kUndefined, high = kUndefined;
};
SampleSummary summarize_sample(const std::vector<double>& x, double level);
// Two-sided exact sign-flip (randomization) test of mean difference zero: share of the 2^n sign assignments at least as extreme.
// Ties and zeros count exactly. Meet in the middle, so 40 pairs take well under a second; beyond, NaN: never by sampling.
double sign_flip_p(const std::vector<double>& differences);
// Whether times of equal work vary so much between seeds, by half or more, that something else used the machine.
bool times_vary(const std::vector<double>& times);
// The warning about it: of `count` rows or cells, the first of which, `name`, has these extremes.
std::string vary_sentence(const std::string& what, const std::string& name, double least, double most,
                          std::int64_t count);
double sign_flip_floor(int pairs);                       // 2 / 2^n
std::vector<double> holm(const std::vector<double>& p);  // NaN stays NaN and is not counted

}  // namespace locus

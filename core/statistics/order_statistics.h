// What choosing the best does to a number: expected order statistics of normal values, and means over the best seeds. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/statistics/samples.h"

namespace locus {

// How far the mean of the best `top` of `of` independent values of one normal distribution lies above its mean, in standard
// deviations: the mean of the expected order statistics
//
//   E X(r) = of! / ((r - 1)! (of - r)!) integral of x phi(x) Phi(x)^(r - 1) (1 - Phi(x))^(of - r) dx
//
// (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition 2003, section 3.1; tables: H. L. Harter, Biometrika 48, 1961). With
// `top` 1 it is the winner's curse: so much better looks the best of `of` equal settings. NaN unless 1 <= top <= of.
double expected_top_mean(int top, int of);

// The mean of the best `top` values beside that of all. Values that are not finite are worse than all others; below `top` values
// there is no mean of them.
struct TopMean {
  double mean = kUndefined;
  double all_mean = kUndefined, all_std = kUndefined;
};
TopMean top_mean(const std::vector<double>& values, std::size_t top, bool maximize);

// "top 3 of 5 by test: reads high by about 0.55 standard deviations". `low`: of a metric whose best is its least.
std::string top_sentence(int top, int of, const std::string& split, bool low);

// "the best of 32 by validation by itself reads high by about 2.07 standard deviations, even where all are equal".
std::string winner_sentence(int of, const std::string& split, bool low);

}  // namespace locus

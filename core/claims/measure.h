// What Locus stores of the numbers papers print: their metrics under the catalog's names, in printed units. Pure.
#pragma once

#include <string>

#include "core/claims/claims.h"

namespace locus {

// scale (metric - minus) / (over - over_minus) of stored results; what is empty is left out. The result is in
// the claim's unit.
struct Measure {
  std::string name, unit;
  bool cost = false;  // of model and machine: the training's settings do not matter
  std::string metric, minus, over, over_minus;
  double scale = 1;
};

// The measure of a printed number; null where nothing stored gives it.
const Measure* measure_of(const ClaimMetric& metric);

// Why nothing stored gives it; empty for a metric that is measured or that nobody knows.
std::string why_unmeasured(const ClaimMetric& metric);

}  // namespace locus

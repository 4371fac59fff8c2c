// Curves as CSV.
#pragma once

#include <cstdint>
#include <string>

#include "locus/v1/analysis.pb.h"

namespace locus {

// Leaves the curve of this trial and of no other.
void keep_trial(std::int64_t ordinal, v1::Curves& curves);

// A header and a row a point. Numbers are the shortest that read back the same; NaN and infinities are words.
std::string render_curves_csv(const v1::Curves& curves);
std::string render_mean_curves_csv(const v1::Curves& curves);

bool thinned(const v1::Curves& curves);  // whether a trial's curve lacks points that are stored

}  // namespace locus

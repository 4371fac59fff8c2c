// Where a token stands, for the parabolas: x before y on a rectangle, t, y, x in a box, patches from 1 along each axis,
// prefix tokens at 0.
#pragma once

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {

inline std::vector<double> reference_point(const ReferenceContext& c, std::int64_t token) {
  std::vector<double> r;
  const std::size_t axes = c.extent.size();
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = axes == 2 ? 1 - i : i;
    double stretch = 1;
    if (c.text("other_grids") == "interpolate")
      stretch = static_cast<double>(c.reference_extent[axis]) / static_cast<double>(c.extent[axis]);
    if (c.text("coordinates") == "grids") stretch = 1 / static_cast<double>(c.extent[axis]);
    r.push_back(c.patch(token) ? static_cast<double>(c.at(token, axis) + 1) * stretch : 0.0);
  }
  return r;
}

}  // namespace locus::engine::test

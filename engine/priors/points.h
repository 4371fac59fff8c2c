// Where the tokens are, for priors that measure distances between coordinates.
#pragma once

#include "engine/base/item.h"
#include "engine/layers/layout.h"

namespace locus::engine {

// Counted in patches; counted, then shrunk by reference over actual length, axis by axis; or in grids:
// divided by the actual length.
enum class Measure { kPatches, kInterpolated, kGrids };
Measure measure_of(const Options& options);  // reads "coordinates" and "other_grids"
std::string unit_of(Measure measure);        // what coordinates count: "patches" or "grids"

// Coordinates of every token, [T, rank]: patches at integers from 1 on (x before y on a grid of rank 2, else
// in the order of the axes), prefix tokens at the origin, all moved so that the grid's center is 0. Of points [B, T,
// rank]: as given, prefix tokens at the origin, each sample moved so that the mean of its valid points is 0; throws
// std::invalid_argument on another measure than kPatches, since they have no sides.
Tensor centered_points(const Layout& layout, const Layout& reference, Measure measure, at::TensorOptions options);

// Key minus query for every entry of offsets(), or with `origin` of offsets(with_origin(layout)), [R, rank], in the
// units and the order of axes of centered_points. Grids alone.
Tensor measured_offsets(const Layout& layout, const Layout& reference, Measure measure, bool origin,
                        at::TensorOptions options);

}  // namespace locus::engine

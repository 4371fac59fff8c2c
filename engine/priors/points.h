// Where the tokens are, for priors that measure distances between coordinates.
#pragma once

#include "engine/priors/layout.h"

namespace locus {

// Coordinates of every token, [T, rank]: patches at integers from 1 on (x before y on a grid of rank 2, else
// in the order of the axes), prefix tokens at the origin, all moved so that the grid's center is 0. With
// `interpolate` positions shrink by reference over actual length, axis by axis, before that.
Tensor centered_points(const Layout& layout, const Layout& reference, bool interpolate,
                       at::TensorOptions options);

}  // namespace locus

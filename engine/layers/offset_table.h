// Learned tables of relative positions on other grids.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// A table of `source` offsets along an axis is one of 2 side - 1, from -(side - 1) on. Each function gives what reads one
// at `target` offsets, [target, source] in double precision on the CPU; both counts are odd and at least 3. The samples of
// the source are taken to lie at 0, +-1, +-(1 + q), +-(1 + q + q^2), ..., and are read at the integers around 0, clamped
// at the ends. (BEiT: Bao et al. 2022, arXiv:2106.08254; its code and timm's.)
Tensor geometric_weights(std::int64_t source, std::int64_t target);  // linearly between two samples
// Along the cubic spline through them whose third derivative is continuous at the samples next to the ends; linearly
// where there are fewer than four.
Tensor spline_weights(std::int64_t source, std::int64_t target);

}  // namespace locus::engine

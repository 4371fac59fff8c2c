// Adapted linear layers by their definitions, as scalar loops.
#pragma once

#include "tests/engine/priors/reference/real.h"

namespace locus::engine::test {

struct ReferenceAdapter {
  bool direction = false;  // DoRA: the update changes the direction, `magnitude` is the length
  bool columns = false;    // lengths of columns within a part, not of rows
  bool through = false;    // gradients pass through the lengths
  std::int64_t parts = 1;  // maps side by side, each with a product of its own
  double scaling = 1;
};

// Weight W [out, in], A [parts r, in], B [out, r]; the magnitude is [out], with columns [parts, in].
struct AdapterWeights {
  Array weight, bias, a, b, magnitude;
};

// W' [out, in]: W + s B A, or m V / |V| with V = W + s B A.
Array merged_weight(const ReferenceAdapter& adapter, const AdapterWeights& weights);
// x W^T + b + drop(x) (W' - W)^T, x [N, in], `factor` [N, in] what dropout multiplies x by: [N, out].
Array adapted_output(const ReferenceAdapter& adapter, const AdapterWeights& weights, const Array& x,
                     const Array& factor);

}  // namespace locus::engine::test

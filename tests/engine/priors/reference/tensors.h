// Between the engine's tensors and the arrays of the definitions.
#pragma once

#include "engine/base/torch.h"
#include "tests/engine/priors/reference/real.h"

namespace locus::engine::test {

// The values of `t`, as variables whose gradients are recorded or as constants.
Array array_of(const Tensor& t, bool variables);
// What `what` says of each entry (&Real::value, &Real::gradient), float64 in the array's shape.
Tensor tensor_of(const Array& a, double (Real::*what)() const);

}  // namespace locus::engine::test

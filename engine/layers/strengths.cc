// Sums by strengths: fused, or operation by operation.
#include "engine/layers/strengths.h"

#include "engine/base/precision.h"
#include "engine/fused/operands.h"
#include "engine/fused/strengths.h"
#include "engine/fused/switch.h"

namespace locus::engine {

Tensor sum_by_strengths(const Tensor& x, const Tensor& strengths, const Tensor& columns, const Tensor& more) {
  const at::ScalarType type = columns.scalar_type();
  if (x.dim() == 3 && fused::fits(x) && fused::operand_type(x) == type && strengths.scalar_type() == type)
    return fused::sum_by_strengths(x, strengths, columns, more);
  const Tensor positive = at::softplus(at::linear(x, strengths).to(type));
  const Autocast off(Precision::kFloat32, x.device());
  const Tensor sum = at::matmul(positive, columns);
  return more.defined() ? sum + at::linear(x.to(type), more) : sum;
}

}  // namespace locus::engine

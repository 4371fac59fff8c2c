// From forms to what the kernels of engine/cpu take: which tensors the parameters are, how the work is divided, and how
// partial gradients come together.
#pragma once

#include "engine/attention/path.h"
#include "engine/cpu/attention.h"

namespace locus::engine {

// A parameter of a form among the inputs of the function: [B|1, H|1, ...] of the kernels' type, contiguous.
struct PlannedParameter {
  std::int64_t input = -1;  // its number, -1: there is none
  bool rows_alone = false;  // its gradient at a query's row comes from that query alone
};

// Everything about one call that is not a number of a tensor. The tensors that terms point to without a gradient live
// in `kept`.
struct FlashPlan {
  std::vector<cpu::Term> terms;
  std::vector<std::array<PlannedParameter, cpu::kParametersMost + 1>>
      parameters;  // of the terms; last, a blend's share
  std::vector<cpu::Table> tables;
  std::vector<PlannedParameter> table_parameters;
  std::vector<Tensor> kept;
  Tensor region;                     // int8, contiguous, or undefined
  at::ScalarType type = at::kFloat;  // of sums
  double scale = 1, hidden = 0;
  const cpu::AttentionKernels* kernels = nullptr;
};

// What a call is made of: q, k, v, then every parameter.
struct FlashCall {
  std::vector<Tensor> inputs;
  FlashPlan plan;
};

// float64 where one of q, k, v is, else float32.
at::ScalarType flash_type(const Scores& scores);

// The kernels of scores for which flash_supports() holds.
FlashCall plan_flash(const Scores& scores);

// The division of the work, by shapes and kinds of terms alone. `dense_gradient`: a term of T x T numbers that samples
// share wants one.
void divide_work(cpu::Problem& problem, bool dense_gradient);

// Sums [ranges, outer, H, count] in order into [B|1, H|1, count], outer being B or the groups of samples.
Tensor sum_parts(const Tensor& parts, bool keep_outer, bool keep_heads);

}  // namespace locus::engine

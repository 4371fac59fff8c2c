// Updates of all parameters in one pass: lists of tensors are taken as one row of numbers, which threads divide.
#pragma once

#include <span>

#include "engine/base/torch.h"

namespace locus::engine::fused {

// Whether these may be updated so: on the CPU, contiguous, of float32 all or float64.
bool updates(std::span<const Tensor> tensors);

// All lists of a call are parallel, and updates() holds for them together. What is written raises no versions, records no gradients,
// and does not depend on the number of threads.

// One group of parameters of a step, in place. `first` and `second` are AdamW's moments; `first` alone is SGD's buffer, empty
// without momentum.
struct UpdateList {
  std::span<const Tensor> parameters, gradients, first, second;
  double rate = 0, weight_decay = 0;
};
struct AdamSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::int64_t step = 1;  // this one, from 1
};
void adamw(std::span<const UpdateList> lists, const AdamSettings& settings);
void sgd(std::span<const UpdateList> lists, double momentum, bool nesterov);

// The Euclidean norm of all numbers together.
double joint_norm(std::span<const Tensor> tensors);
void scale(std::span<const Tensor> tensors, double factor);

// average = keep average + (1 - keep) weight, or with `lerp` average += (1 - keep) (weight - average).
void follow(std::span<const Tensor> averages, std::span<const Tensor> weights, double keep, bool lerp);

}  // namespace locus::engine::fused

// How the learning rate changes over a training.
#pragma once

#include <cstdint>
#include <functional>

namespace locus::engine {

// The rate of an optimizer step, counted from 0. Pure.
using Schedule = std::function<double(std::int64_t step)>;

// Linear warm-up to `peak` over `warmup` steps, then half a cosine down to `minimum` at `steps`
// (Loshchilov and Hutter 2017, equation 5, without restarts).
struct CosineSchedule {
  double peak = 0, minimum = 0;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

}  // namespace locus::engine

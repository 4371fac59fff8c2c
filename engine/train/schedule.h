// How the learning rate, or another number of a training, changes over it. Everything here is pure.
#pragma once

#include <cstdint>
#include <functional>

namespace locus::engine {

// The rate of an optimizer step, counted from 0.
using Schedule = std::function<double(std::int64_t step)>;

// Linear warm-up to `peak` over `warmup` steps, then half a cosine down to `minimum` at `steps`
// (Loshchilov and Hutter 2017, equation 5, without restarts).
struct CosineSchedule {
  double peak = 0, minimum = 0;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

// The schedulers of timm (CosineLRScheduler, PolyLRScheduler), whose time t counts epochs or updates:
//   warmup_rate + t (peak - warmup_rate) / warmup            t < warmup
//   minimum + (peak - minimum) f(t / length)                 warmup <= t < length
//   minimum                                                  length <= t, which is the cool-down
// with f(x) = (1 + cos(pi x)) / 2, or (1 - x)^power. The curve does not begin anew after the warm-up, so there is a small
// step, unless `prefix` takes the warm-up off t. `late`: t is one less than the time that is asked for, as in DeiT,
// DeiT-III and RMT, which set the rate after an epoch by that epoch's own number.
struct TimmSchedule {
  double peak = 0, minimum = 0, warmup_rate = 0;
  std::int64_t warmup = 0, length = 1;
  bool late = false, prefix = false;
  double power = 0;  // 0: the cosine
  double operator()(std::int64_t time) const;
};

// VTAB-1K fine-tuning (vtab1k-pytorch): peak (step + 1) / warmup, then peak (1 + cos(pi i / (C - 1))) / 2 for i = 1..C,
// C = steps - warmup: the last step but one has rate 0, the last one a little more.
struct VtabCosine {
  double peak = 0;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

// PaPE: with k = step + 1, peak k / warmup below it, then minimum + (peak - minimum) (1 + cos(pi (k - warmup) /
// (steps - warmup))) / 2: the last step has the minimum.
struct PapeCosine {
  double peak = 0, minimum = 0;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

// Active Spatial Guidance: from warmup_rate to the peak over `warmup` steps, then half a cosine that would reach the
// minimum one step after the last.
struct AsgCosine {
  double peak = 0, minimum = 0, warmup_rate = 0;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

// mmsegmentation's LinearLR and PolyLR by steps, power 1: peak (start + (1 - start) t / (warmup - 1)) below `warmup`, then
// peak (1 - k / (steps - warmup - 1)), k = t - warmup: the last step has rate 0.
struct MmsegPoly {
  double peak = 0, start = 1e-6;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

// DINO's cosine_scheduler, for the rate, the weight decay and the teacher's momentum: `warmup` values at equal distances
// from 0 to `base`, both included, then final + (base - final) (1 + cos(pi i / (steps - warmup))) / 2, i from 0.
struct DinoCosine {
  double base = 0, final = 0;
  std::int64_t warmup = 0, steps = 1;
  double operator()(std::int64_t step) const;
};

// DINO's teacher temperature: `warmup` values at equal distances from `start` to `end`, both included, then `end`.
struct LinearRamp {
  double start = 0, end = 0;
  std::int64_t warmup = 0;
  double operator()(std::int64_t time) const;
};

// PyTorch's CosineAnnealingLR in closed form: minimum + (base - minimum) (1 + cos(pi t / length)) / 2.
struct AnnealingCosine {
  double base = 0, minimum = 0;
  std::int64_t length = 1;
  double operator()(std::int64_t time) const;
};

// A schedule over epochs as one over steps: every step of an epoch has the epoch's rate.
Schedule by_epoch(Schedule epochs, std::int64_t steps_per_epoch);

}  // namespace locus::engine

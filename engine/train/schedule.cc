// Schedules in closed form.
#include "engine/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace locus::engine {
namespace {

// (1 + cos(pi part / whole)) / 2; 1 for nothing of nothing.
double half_cosine(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return 1;
  const double done = static_cast<double>(part) / static_cast<double>(whole);
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}

double share(std::int64_t part, std::int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

}  // namespace

double CosineSchedule::operator()(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (steps <= warmup) return peak;
  const double done = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return minimum + (peak - minimum) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

double TimmSchedule::operator()(std::int64_t time) const {
  std::int64_t t = late ? std::max<std::int64_t>(time - 1, 0) : time;
  if (t < warmup) return warmup_rate + static_cast<double>(t) * ((peak - warmup_rate) / static_cast<double>(warmup));
  if (prefix) t -= warmup;
  if (t >= length) return minimum;
  return minimum + (peak - minimum) * (power > 0 ? std::pow(1 - share(t, length), power) : half_cosine(t, length));
}

double VtabCosine::operator()(std::int64_t step) const {
  if (step < warmup) return peak * share(step + 1, warmup);
  return peak * half_cosine(step - warmup + 1, std::max<std::int64_t>(steps - warmup - 1, 0));
}

double PapeCosine::operator()(std::int64_t step) const {
  const std::int64_t k = step + 1;
  if (k < warmup) return peak * share(k, warmup);
  return minimum + (peak - minimum) * half_cosine(k - warmup, steps - warmup);
}

double AsgCosine::operator()(std::int64_t step) const {
  if (step < warmup) return warmup_rate + (peak - warmup_rate) * share(step, warmup);
  return minimum + (peak - minimum) * half_cosine(step - warmup, steps - warmup);
}

double MmsegPoly::operator()(std::int64_t step) const {
  if (step < warmup) return peak * (warmup == 1 ? 1 : start + (1 - start) * share(step, warmup - 1));
  return steps - warmup <= 1 ? peak : peak * (1 - share(step - warmup, steps - warmup - 1));
}

double DinoCosine::operator()(std::int64_t step) const {
  if (step < warmup) return LinearRamp{0, base, warmup}(step);
  return final + (base - final) * half_cosine(step - warmup, steps - warmup);
}

double LinearRamp::operator()(std::int64_t time) const {
  if (time >= warmup) return end;
  if (warmup == 1) return start;
  return start + (end - start) * share(time, warmup - 1);
}

double AnnealingCosine::operator()(std::int64_t time) const {
  return minimum + (base - minimum) * half_cosine(time, length);
}

Schedule by_epoch(Schedule epochs, std::int64_t steps_per_epoch) {
  return [epochs = std::move(epochs), steps_per_epoch](std::int64_t step) { return epochs(step / steps_per_epoch); };
}

}  // namespace locus::engine

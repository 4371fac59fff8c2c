// Schedules in closed form.
#include "engine/train/schedule.h"

#include <cmath>
#include <numbers>

namespace locus::engine {

double CosineSchedule::operator()(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (steps <= warmup) return peak;
  const double done = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return minimum + (peak - minimum) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace locus::engine

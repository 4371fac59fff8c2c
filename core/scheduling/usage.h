// How what an account has used is forgotten.
#pragma once

#include <cstdint>

#include "core/base/clock.h"

namespace locus {

// What is left of `used` (0 or more) after a time: half of it after every half-life, a straight line between these; in
// integers, so that every machine and every replay has the same. No time, or less, leaves all of it. Pure.
std::int64_t decayed(std::int64_t used, Microseconds elapsed, Microseconds half_life);

}  // namespace locus

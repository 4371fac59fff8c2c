// How what an account has used is forgotten.
#include "core/scheduling/usage.h"

#include <algorithm>

namespace locus {

// (used >> n) - (used >> (n + 1)) * rest / half-life, in milliseconds, so that the product of two rests fits.
std::int64_t decayed(std::int64_t used, Microseconds elapsed, Microseconds half_life) {
  const std::int64_t whole = std::max<std::int64_t>(1, half_life / 1000);
  const std::int64_t passed = std::max<std::int64_t>(0, elapsed / 1000);
  const std::int64_t halvings = passed / whole, rest = passed % whole;
  if (halvings >= 62) return 0;
  const std::int64_t next = used >> (halvings + 1);
  return (used >> halvings) - (next / whole * rest + next % whole * rest / whole);
}

}  // namespace locus

// How often somebody may do something.
#include "core/identity/limiter.h"

#include <algorithm>
#include <cmath>

namespace locus {
namespace {

constexpr double kRounding = 1e-9;  // who waited as long as told gets one
constexpr int kFailuresBeforeLock = 5;
constexpr Microseconds kLockFirst = 60'000'000, kLockMost = 3'600'000'000;

}  // namespace

Microseconds TokenBuckets::take(const std::string& key, Microseconds now) {
  Bucket& bucket = buckets_.at(key);
  if (!bucket.used) bucket = {true, rate_.burst, now};
  const double refilled = static_cast<double>(std::max<Microseconds>(0, now - bucket.at)) * 1e-6 * rate_.per_second;
  bucket.left = std::min(rate_.burst, bucket.left + refilled);
  bucket.at = now;
  if (bucket.left >= 1 - kRounding) {
    bucket.left = std::max(0.0, bucket.left - 1);
    return 0;
  }
  return std::max<Microseconds>(1, static_cast<Microseconds>(std::ceil((1 - bucket.left) / rate_.per_second * 1e6)));
}

Microseconds Lockouts::locked_for(const std::string& key, Microseconds now) const {
  const Failures* failures = failures_.find(key);
  return failures == nullptr ? 0 : std::max<Microseconds>(0, failures->until - now);
}

void Lockouts::fail(const std::string& key, Microseconds now) {
  Failures& failures = failures_.at(key);
  ++failures.count;
  if (failures.count < kFailuresBeforeLock) return;
  const int doublings = std::min(failures.count - kFailuresBeforeLock, 10);
  failures.until = now + std::min(kLockMost, kLockFirst << doublings);
}

}  // namespace locus

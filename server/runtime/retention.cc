// How long what is stored of identities is kept.
#include "server/runtime/retention.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/limits.h"

namespace locus::server {

absl::Status Retention::look() {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.identity().audit(0, 1));
  absl::MutexLock lock(&mutex_);
  // A row from the future was written while the clock was wrong: it does not give away what follows it.
  if (!found_ && !rows.empty()) found_ = Found{std::min(rows.front().time_us, clock_.wall()), clock_.steady()};
  return absl::OkStatus();
}

absl::Status Retention::forget_old() {
  LOCUS_RETURN_IF_ERROR(look());
  const Microseconds now = clock_.wall();
  Microseconds before = now - kAuditKept.count();
  {
    absl::MutexLock lock(&mutex_);
    if (found_) before = std::min(before, found_->oldest + 2 * (clock_.steady() - found_->steady));
  }
  const Mutation forget = ForgetIdentity{before};
  return store_.apply({&forget, 1}, now);
}

}  // namespace locus::server

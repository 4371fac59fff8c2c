// How long what is stored of identities is kept: the audit above all.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/ports/store.h"

namespace locus::server {

// Rows of the audit are as old as the wall clock says, and that may be set wrong by years. So a server never lets go of
// more of the record than twice the time that it has run by its monotonic clock, counted from the oldest row that it found:
// enough to follow a clock that is right, and to catch up after a pause, while a clock that jumps costs no more than what
// was about to go. Thread-safe; both must outlive it.
class Retention {
 public:
  Retention(Store& store, Clock& clock) : store_(store), clock_(clock) {}

  // Lets go of audit rows, sessions and invitations whose time is over, as ForgetIdentity does. The first call only looks
  // where the audit begins. Blocks; errors as those of Store.
  absl::Status forget_old();

 private:
  struct Found {
    Microseconds oldest, steady;  // the oldest row's time, and the monotonic clock when it was seen
  };
  absl::Status look();

  Store& store_;
  Clock& clock_;
  absl::Mutex mutex_;
  std::optional<Found> found_ ABSL_GUARDED_BY(mutex_);  // none while the audit is empty
};

}  // namespace locus::server

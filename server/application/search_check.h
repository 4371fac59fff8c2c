// Checks of the logs of searches.
#pragma once

#include "absl/status/status.h"
#include "core/ports/store.h"
#include "locus/v1/admin_service.pb.h"

namespace locus::server {

// Replays the log of every search, running or ended: each row must follow those before it, and be what its rule answers there. What
// is not is added to the problems. Blocks for as long as that takes.
absl::Status check_searches(Store& store, v1::CheckReport* report);

}  // namespace locus::server

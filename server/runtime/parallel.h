// Independent pieces of one answer side by side.
#pragma once

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace locus::server {

// Runs `task` for 0 to count - 1, each once, on this thread and as many more as the machine has cores, at
// most 4 in all. Returns when all have ended: the status of the first in order that failed; after a failure
// those not begun are left out. Tasks must not throw and must not touch what another writes.
absl::Status for_each_in_parallel(std::size_t count, const std::function<absl::Status(std::size_t)>& task);

}  // namespace locus::server

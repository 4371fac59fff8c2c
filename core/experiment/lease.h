// Leases as server and worker both speak of them: what a worker states of an attempt that it runs, and what the server
// wants of it. The wire's own form is proto/locus/v1/worker_service.proto.
#pragma once

#include <cstdint>
#include <string>

#include "core/experiment/model.h"

namespace locus {

// One attempt as its worker states it in heartbeats and registrations.
struct StatedAttempt {
  StageId stage_id = 0;
  std::int64_t attempt = 0, step = 0, steps = 0;
  std::string phase;
};

// Level-triggered: it may be repeated, obeying twice is harmless. Cancel: no longer wanted, the outcome is of no
// interest. Drop: a stale or unknown token.
enum class LeaseWish { kContinue, kCheckpointAndStop, kCancel, kDrop };

}  // namespace locus

// What a worker says of itself when it registers.
#pragma once

#include "absl/status/statusor.h"
#include "core/identity/principal.h"
#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "locus/v1/worker_service.pb.h"

namespace locus::server {

inline constexpr int kHeldMost = 4096;  // attempts that a worker may state

// Whether it can be worked with: INVALID_ARGUMENT, RESOURCE_EXHAUSTED, or FAILED_PRECONDITION for another protocol version.
absl::Status check_announcement(const v1::RegisterWorkerRequest& request);

// What its certificate grants a worker, and what it says of itself. Where nobody is asked who they are, that is as good.
absl::StatusOr<WorkerLabels> announced_labels(Store& store, const Principal& who,
                                              const v1::RegisterWorkerRequest& request);

// All but the labels, for the scheduler; of a request that was checked.
WorkerRegistered announced(const v1::RegisterWorkerRequest& request);

}  // namespace locus::server

// Running again what failed, is held or was cancelled.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/authority/caller.h"
#include "server/runtime/coordinator.h"

namespace locus::server {

// `experiment` of the answer is left to the caller. Blocks. Thread-safe.
absl::StatusOr<v1::RerunExperimentResponse> rerun(Store& store, Coordinator& coordinator,
                                                  const v1::RerunExperimentRequest& request, const Caller& caller);

}  // namespace locus::server

// Whether an account may have what is submitted.
#pragma once

#include "absl/status/status.h"
#include "core/experiment/plan.h"
#include "core/identity/principal.h"
#include "core/ports/store.h"

namespace locus::server {

struct Admission {
  const Principal& who;
  const std::string& owner;
  ExperimentId known = 0;  // the stored experiment that the plan would change; 0: it would be new
  const ExperimentPlan& plan;
};

// PERMISSION_DENIED (NOT_PERMITTED) for urgent work of somebody who is no operator and whose account may have none;
// RESOURCE_EXHAUSTED (QUOTA_EXCEEDED) with what is used and allowed. Blocks on the store.
absl::Status admit(Store& store, const Admission& asked);

}  // namespace locus::server

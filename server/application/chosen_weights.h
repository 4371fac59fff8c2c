// Which of a trial's models is looked at.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/trial.pb.h"

namespace locus::server {

struct ChosenWeights {
  const v1::StageDetail* stage = nullptr;  // of the trial given
  std::string sha256;                      // empty: the initialization, which its configuration tells
  std::int64_t step = 0;
};

// `wish`: a step; "best" validated best, where that is kept; "last", or empty: the newest there is; "initial". Of one
// step an output of the stage before a checkpoint. INVALID_ARGUMENT for another wish; FAILED_PRECONDITION (WRONG_STATE)
// when nothing is kept; NOT_FOUND (ARTIFACT_NOT_FOUND) naming the steps there are.
absl::StatusOr<ChosenWeights> choose_weights(const v1::TrialDetail& trial, const std::string& wish);

}  // namespace locus::server

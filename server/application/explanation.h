// Why a stage is in its state, in sentences.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/store.h"
#include "locus/v1/trial.pb.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/search_runner.h"

namespace locus::server {

struct StageSentence {
  std::string sentence;
  std::string remedy;                 // what a person can do; empty: nothing needs doing
  std::optional<Microseconds> after;  // how long until it changes, as far as can be told
};

// `stage` as stored; what is alive is asked of the scheduler. Waits for the strand: never from it.
StageSentence explain_stage(Coordinator& coordinator, const StageRow& stage);

// By trial or by stage. Blocks. Thread-safe.
absl::StatusOr<v1::Explanation> explain(Store& store, Coordinator& coordinator, SearchRunner& searches, Clock& clock,
                                        const v1::ExplainRequest& request);

}  // namespace locus::server

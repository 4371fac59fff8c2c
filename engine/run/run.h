// Runs one stage from its configuration. The edge of the engine: nothing is thrown at the caller but what the
// observer threw.
#pragma once

#include <string>

#include "engine/base/stage_aborted.h"
#include "engine/stage/stage.h"

namespace locus::engine {

struct StageRequest {
  Json configuration;
  std::map<std::string, std::filesystem::path> inputs;
  std::filesystem::path resume;  // a checkpoint to go on from; empty: from the start
  Execution execution;
};

struct StageReport {
  std::string outcome;        // succeeded, stopped, cancelled, parked or failed
  std::string failure_class;  // out-of-memory, diverged, data, code or peer-lost; empty unless failed
  std::string reason;         // a sentence; empty unless failed
  std::vector<StageResult> results;
  std::vector<StageOutput> outputs;
  std::int64_t parked_step = 0;        // with parked: of the checkpoint to go on from
  std::int64_t peak_memory_bytes = 0;  // of tensors on its device, at most; 0: not known
  Json environment;
};

// Runs in the calling thread, which is the one thread that calls `observer`. Sets torch's thread count and
// determinism for the process, so two stages must not run at the same time.
StageReport run_stage(const StageRequest& request, StageObserver& observer);

}  // namespace locus::engine

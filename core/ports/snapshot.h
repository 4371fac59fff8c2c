// What a starting scheduler is given of a store.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/experiment/model.h"
#include "core/identity/account.h"

namespace locus {

// A trial of an experiment that a stage is done for.
struct StageReference {
  ExperimentId experiment = 0;
  StageId stage = 0;
  std::int64_t trial = 0, cell = 0;
  std::int64_t until_step = kToTheEnd;  // of its link
};

// What a starting scheduler needs: everything not finished, and where ids go on.
struct Snapshot {
  std::vector<ExperimentRow> experiments;  // active and paused
  std::vector<StageRow> stages;            // blocked, queued, running
  std::vector<AttemptRow> running;
  std::vector<StageReference> references;      // of unretired trials of live experiments to those stages
  std::map<StageId, CheckpointRow> resume;     // newest checkpoint of each stage above, not superseded
  std::map<ExperimentId, std::int64_t> cells;  // how many each experiment above has
  std::set<ExperimentId> proven;               // those with a stage that succeeded, or parked once
  std::vector<WorkerRow> workers;
  std::vector<AccountRow> accounts;
  std::vector<UsageRow> usage;
  ExperimentId next_experiment = 1;
  StageId next_stage = 1;
  WorkerId next_worker = 1;
};

}  // namespace locus

// What submissions and reruns share.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/scheduling/state.h"

namespace locus {

// A submission under way: what each identity turned out to be, and what must be written. Nothing of it shows
// before it is whole.
struct Scheduler::State::Placement {
  struct Placed {
    StageId id = 0;
    bool live = false;                 // not terminal once this is stored
    bool open = true;                  // being placed: meeting it again is a cycle
    bool succeeded = false;            // neither live nor this: it stays as it has ended
    std::vector<StageOutput> outputs;  // of a succeeded one
  };
  struct Adopted {
    StageId id = 0;
    StageRow row;
    StageState from{};  // of a revived one
    bool revived = false;
    std::optional<CheckpointRow> resume;
    std::vector<StageReference> references;
  };
  const ExperimentSubmitted* event = nullptr;
  StageId next_stage = 1;
  std::unordered_map<std::string, Placed> placed;
  std::vector<Adopted> adopted;  // sources first
  bool replaces = false;         // the links are all that the experiment will have
  bool decided = false;  // by its search, not by a person: what has failed is left so unless it is wanted further
  std::unordered_map<std::string, std::vector<const ExperimentSubmitted::Link*>> links = {};  // by identity
};

// What links stored trials to stages, as the submission that does the same.
ExperimentSubmitted submission_of(const ExperimentRow& row,
                                  const std::map<std::string, ExperimentSubmitted::StageDraft>& stages,
                                  const std::vector<ExperimentSubmitted::Link>& links);

}  // namespace locus

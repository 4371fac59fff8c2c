// What the time of a stage depends on beside its priors and the machine: by it the runs of the past are found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/experiment/model.h"

namespace locus {

// The load of a stage, from its canonical configuration: kind, dataset and model, of a training the batch, of any
// other stage its options but for how many images it scores. Stages of one load take as long for each of their steps,
// images or whatever they count, as far as priors and recipes leave it so. The store keeps these texts: migration 7
// writes the same.
std::string load_of(std::string_view kind, std::string_view config_json);

// A stage that succeeded.
struct PastRun {
  StageId stage_id = 0;
  std::string config_json;
  std::string environment_json;  // of the attempt that succeeded
  Microseconds busy_us = 0;      // that attempt's whole time
  std::int64_t resume_step = 0;  // where it started
};

}  // namespace locus

// What a search says of an experiment and its trials, beyond their stages.
#pragma once

#include <optional>
#include <string>

#include "core/ports/store.h"
#include "core/search/fold.h"

namespace locus::server {

// Whether the experiment has a search that has not ended. False where the store does not answer. Blocks on it.
bool search_runs(Store& store, ExperimentId experiment);

// A trial that its search holds back.
struct TrialStanding {
  std::string state;     // "waiting", "parked", "stopped", "cancelled"
  std::string sentence;  // why
};
// Nothing where the trial's stages say it all. `assignment_json` and `row_key` are its cell's. Pure.
std::optional<TrialStanding> standing_of(const Fold& fold, const TrialView& trial, const std::string& assignment_json,
                                         const std::string& row_key);

// How many trials of the phases that have begun wait, and how many stand parked or stopped; those of later phases wait too: `trials` of
// the experiment in all. Pure.
struct SearchTally {
  std::int64_t waiting = 0, parked = 0;
};
SearchTally tally_of(const Fold& fold, std::int64_t trials);

}  // namespace locus::server

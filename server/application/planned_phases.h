// A specification as its experiment is stored: the cells and trials of all of its phases in a row, and the setup of each phase's search
// over them. Pure.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "core/experiment/plan/proposed.h"
#include "core/search/decision.h"

namespace locus::server {

struct PlannedExperiment {
  std::vector<PlannedPhase> phases;
  // An ordinary plan over all of them. With several phases, row keys name the phase under "$phase", so that none is there twice;
  // trials that wait for a choice have no stages.
  ExperimentPlan whole;
  std::vector<std::size_t> first_cell, first_trial;  // of each phase, in `whole`
  // Whether it has a log of decisions: a search that decides anything, or phases. Otherwise every cell is run like any other.
  bool searched = false;
  std::shared_ptr<const Catalog> catalog = {};  // that it was planned with, where whoever planned it keeps that
};

// With what was chosen so far, by phase: trials that use it have their stages; and with what clients proposed. Errors as
// plan_protocol() and plan_proposed().
absl::StatusOr<PlannedExperiment> plan_whole(const Json& specification, const Catalog& catalog,
                                             std::span<const std::vector<ChosenCandidate>> choices = {},
                                             const PhaseProposals& proposed = {});
// With what the cells of an experiment tell that clients proposed.
absl::StatusOr<PlannedExperiment> plan_stored(const Json& specification, const Catalog& catalog,
                                              std::span<const std::vector<ChosenCandidate>> choices,
                                              std::span<const CellRow> cells);

// Stored ordinals by what they are found by.
struct StoredPlaces {
  std::map<std::string, std::int64_t> cells;                             // row key -> ordinal
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> trials;  // cell ordinal and seed -> ordinal
};

// The setup of a phase: its units are the cells that are stored. Of groups that nothing was chosen for, none.
SearchSetup phase_setup(const PlannedExperiment& planned, std::size_t phase, const StoredPlaces& stored,
                        const Catalog& catalog);

}  // namespace locus::server

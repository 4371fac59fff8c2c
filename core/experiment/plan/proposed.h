// What clients proposed, from the cells that it became. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/experiment/model.h"
#include "core/experiment/plan/protocol.h"

namespace locus {

// A cell's key as it is stored in an experiment of several phases: with the phase's name, so that none is there twice.
std::string phase_row_key(const std::string& row_key, const std::string& phase);

// Of every phase whose proposals come from a client those there are: each combination of the space's values once, in the order of the
// cells. Cells of experiments with several phases are told apart by their keys. Empty where nothing was proposed yet.
PhaseProposals proposed_of(const std::vector<PlannedPhase>& phases, std::span<const CellRow> cells);

}  // namespace locus

// A specification of one phase or several, planned. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/experiment/plan.h"
#include "core/experiment/plan/phases.h"
#include "core/experiment/plan/planner.h"

namespace locus {

// What was chosen for a group: config path -> value, as specifications write it.
using ChosenValues = std::map<std::string, Json>;
// Phase -> group, its assignment of PhaseChoice::per in canonical JSON ("{}" where there is one choice for all) -> what was chosen. A
// group that is missing has nobody left to choose.
using Choices = std::map<std::string, std::map<std::string, ChosenValues>>;

// What clients proposed, by phase; of a specification without phases, by the empty name.
using PhaseProposals = std::map<std::string, ProposedCells>;

struct PlannedPhase {
  std::string name;
  std::optional<PhaseChoice> choose;  // complete
  std::vector<PhaseUse> use;
  // The groups of its choice, in order, and the candidates of each by what they assign, canonical; empty without one.
  std::vector<std::string> groups, candidates;
  // An ordinary plan. Of a phase that uses a choice, assignments hold {"$chosen": PHASE} at the path, and while it is deferred its trials have
  // no stages.
  ExperimentPlan plan;
  bool deferred = false;
};

struct ProtocolPlan {
  std::vector<PlannedPhase> phases;  // one, without a name, of a specification without phases
  std::string spec_json;             // canonical form of the whole document
};

// As plan_experiment(), phase by phase. Every value that a phase may come to use is checked in it beforehand. Besides, refuses a
// choice among what is no factor or of more seeds than there are, a use of what was not chosen, of what is a factor there as well, or
// for groups that the choosing phase does not have; at the field of the phase that says so.
// Proposals are refused as plan_proposed() does.
absl::StatusOr<ProtocolPlan> plan_protocol(const Json& specification, const Catalog& catalog,
                                           const PhaseProposals& proposed = {});

// The phase at `place` once all that it uses has been chosen: its trials with their stages; those of groups without a choice have
// none. The same choices give the same identities as a specification that fixes them.
absl::StatusOr<PlannedPhase> plan_phase(const Json& specification, const Catalog& catalog, std::size_t place,
                                        const Choices& choices, const PhaseProposals& proposed = {});

// What a cell assigns at `paths`, canonical: the group or the candidate it belongs to.
std::string assignment_at(const PlannedCell& cell, const std::vector<std::string>& paths);

}  // namespace locus

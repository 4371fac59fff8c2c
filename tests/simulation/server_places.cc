// What the simulated server is told of places and times, and what it says of them.
#include <algorithm>

#include "core/experiment/labels.h"
#include "tests/simulation/server.h"

namespace locus::simulation {
namespace {

// Planted defects of what is said: after these words a figure more.
const std::map<Mutant, std::string> kMisnamed = {{Mutant::kMisnamesBound, " may hold "},
                                                 {Mutant::kMisnamesStopping, "; waits for stage "},
                                                 {Mutant::kMisnamesSize, "it needs "},
                                                 {Mutant::kMisnamesKept, " is kept free for stage "},
                                                 {Mutant::kMisnamesLabel, " could run it have no "},
                                                 {Mutant::kMisnamesEnd, " ends in "},
                                                 {Mutant::kMisnamesFirst, " and comes first, "}};

}  // namespace

// Planted defects of what takes several devices, and of who makes way for whom.
void ServerProcess::forget_places(Snapshot& snapshot) const {
  if (mutant_ == Mutant::kForgetsDevices) {
    for (ExperimentRow& row : snapshot.experiments) {
      const PlacementPtr rules = stored_placement(row.placement);
      if (rules) row.placement = placement_text({.require = rules->require, .prefer = rules->prefer});
    }
  }
  if (mutant_ == Mutant::kForgetsKinds) {
    for (ExperimentRow& row : snapshot.experiments) {
      const PlacementPtr rules = stored_placement(row.placement);
      if (!rules || rules->alike.empty()) continue;
      PlacementRules anew = *rules;
      for (auto& [key, value] : anew.alike) value.clear();
      row.placement = placement_text(anew);
    }
  }
  if (mutant_ == Mutant::kForgetsSaved) {
    for (const StageRow& row : snapshot.stages) {
      if (row.failure_class == FailureClass::kPreempted) snapshot.resume.erase(row.id);
    }
  }
  if (mutant_ == Mutant::kForgetsClasses) {
    for (AttemptRow& row : snapshot.running) row.service_class = ServiceClass::kScavenge;
  }
}

std::string ServerProcess::explain(StageId stage) const {
  if (!scheduler_) return "";
  std::string text = scheduler_->explain(stage, now_here());
  if (const auto words = kMisnamed.find(mutant_); words != kMisnamed.end()) {
    const std::size_t at = text.find(words->second);
    if (at != std::string::npos) text.insert(at + words->second.size(), "1");
  }
  return text;
}

// Of those that wait about half, by the number; from half a training to several.
void ServerProcess::estimate(std::uint64_t chance) {
  if (!responsive()) return;
  StagesEstimated event;
  for (const auto& [id, record] : ledger_.stages()) {
    Random drawn(chance ^ static_cast<std::uint64_t>(id));
    if (record.state == StageState::kQueued && drawn.chance(0.5)) event.busy[id] = drawn.between(10, 90) * kSecond;
  }
  ledger_.places().estimated(event.busy);
  if (mutant_ == Mutant::kInventsEstimates) {
    for (const auto& [id, record] : ledger_.stages()) event.busy[id] = kSecond;
  }
  step(event);
}

void ServerProcess::note_life(const Event& event, const Decision& decision) {
  const auto* asks = std::get_if<WorkerRegistered>(&event);
  const bool taken = asks != nullptr && std::ranges::any_of(decision.commands, [&](const Command& command) {
                       const auto* done = std::get_if<ReplyDone>(&command);
                       return done != nullptr && done->reply == asks->reply;
                     });
  if (taken) ledger_.places().registered(*asks, world_.now());
}

}  // namespace locus::simulation

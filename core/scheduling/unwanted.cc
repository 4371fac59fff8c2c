// What experiments want, and letting go of stages that none wants any more: in pieces, so that nobody waits while a
// large experiment is cancelled. Such a stage is never granted; the store may still call it queued or blocked, and a
// scheduler that starts again recognizes it by that nobody wants it.
#include <algorithm>

#include "core/scheduling/state.h"

namespace locus {

void Scheduler::State::take_want(Experiment& experiment, const Want& want) {
  Stage& stage = stages_.at(want.first);
  if (stage.wants.empty()) unwanted_.erase(want.first);
  stage.wants.insert({experiment.row.id, want.second});
  experiment.wants.insert(want);
}

// What the experiment wants from now on. What runs and nobody wants any more is cancelled in this step, the rest of it
// from this step on.
void Scheduler::State::set_wants(Experiment& experiment, const std::set<Want>& wants, const std::string& reason) {
  std::set<Want> former;
  former.swap(experiment.wants);
  for (const Want& wanted : wants) take_want(experiment, wanted);
  const auto why = std::make_shared<const Unwanted>(Unwanted{experiment.row.id, experiment.row.name, reason});
  for (const Want& before : former) {
    if (wants.contains(before)) continue;
    Stage& stage = stages_.at(before.first);
    stage.wants.erase({experiment.row.id, before.second});
    if (stage.wants.empty()) unwanted_.insert_or_assign(unwanted_.end(), before.first, why);
    refresh_ready(stage);
  }
  for (auto& [id, worker] : workers_) {
    const std::set<StageId> running = worker.running;
    for (const StageId stage : running) cancel_unwanted(stage);
  }
  let_go(policy_.let_go);
  for (const Want& wanted : experiment.wants) refresh_ready(stages_.at(wanted.first));
}

void Scheduler::State::cancel_unwanted(StageId id) {
  const auto found = unwanted_.find(id);
  if (found == unwanted_.end()) return;
  const std::shared_ptr<const Unwanted> why = found->second;  // outlives its entry, which goes with the stage
  cancel(stages_.at(id), why->reason);
}

// At least so many, as far as there are: what a stage takes along with it goes in the same piece.
void Scheduler::State::let_go(std::size_t count) {
  const std::size_t left = unwanted_.size() - std::min(count, unwanted_.size());
  while (unwanted_.size() > left) cancel_unwanted(unwanted_.begin()->first);
  let_go_at_ = now_.steady;
}

// Before some of an experiment is wanted again: all that it wants no more. They are to be found cancelled, and a
// scheduler that started from the store could not tell them from the ones that are wanted. Whether there were any.
bool Scheduler::State::let_go_of_all(ExperimentId experiment) {
  std::vector<StageId> ids;
  for (const auto& [id, why] : unwanted_) {
    if (why->experiment == experiment || why->experiment == 0) ids.push_back(id);
  }
  for (const StageId id : ids) cancel_unwanted(id);
  return !ids.empty();
}

// Time has passed.
void Scheduler::State::handle(const Tick&) {
  if (!unwanted_.empty() && now_.steady >= let_go_at_) let_go(policy_.let_go);
}

}  // namespace locus

// Which stages the trials of experiments reference, and the cancellation of those that none references any more: in
// pieces, so that no caller waits while a large experiment is cancelled. Such a stage is never granted; the store may
// still call it queued or blocked, and a scheduler that starts again recognizes it by its missing references.
#include <algorithm>

#include "core/scheduling/state.h"

namespace locus {

void Scheduler::State::add_reference(Experiment& experiment, const TrialStage& reference, std::int64_t until) {
  Stage& stage = stages_.at(reference.first);
  if (stage.references.empty()) unreferenced_.erase(reference.first);
  stage.references[{experiment.row.id, reference.second}] = until;
  experiment.references[reference] = until;
}

// Replaces what the experiment references. Of the stages that have no reference left, the running ones are cancelled in
// this step, the others from this step on. Those that others reference keep to the stop points of these.
void Scheduler::State::set_references(Experiment& experiment, const TrialStages& references,
                                      const std::string& reason) {
  TrialStages former;
  former.swap(experiment.references);
  for (const auto& [reference, until] : references) add_reference(experiment, reference, until);
  std::set<StageId> moved;
  const auto why = std::make_shared<const Unreferenced>(Unreferenced{experiment.row.id, experiment.row.name, reason});
  for (const auto& [before, wanted] : former) {
    moved.insert(before.first);
    if (references.contains(before)) continue;
    Stage& stage = stages_.at(before.first);
    stage.references.erase({experiment.row.id, before.second});
    if (stage.references.empty()) unreferenced_.insert_or_assign(unreferenced_.end(), before.first, why);
    refresh_ready(stage);
  }
  for (auto& [id, worker] : workers_) {
    const std::set<StageId> running = worker.running;
    for (const StageId stage : running) cancel_if_unreferenced(stage);
  }
  cancel_unreferenced(policy_.cancellations_per_step);
  for (const auto& [reference, until] : experiment.references) {
    moved.insert(reference.first);
    refresh_ready(stages_.at(reference.first));
  }
  for (const StageId id : moved) {
    if (Stage* stage = find_stage(id)) settle(*stage);
  }
}

void Scheduler::State::cancel_if_unreferenced(StageId id) {
  const auto found = unreferenced_.find(id);
  if (found == unreferenced_.end()) return;
  const std::shared_ptr<const Unreferenced> why = found->second;  // outlives its entry, which goes with the stage
  cancel(stages_.at(id), why->reason);
}

// At least `count`, as far as there are: the dependents of a stage are cancelled in the same piece.
void Scheduler::State::cancel_unreferenced(std::size_t count) {
  const std::size_t left = unreferenced_.size() - std::min(count, unreferenced_.size());
  while (unreferenced_.size() > left) cancel_if_unreferenced(unreferenced_.begin()->first);
  next_cancellations_at_ = now_.steady;
}

// Cancels every unreferenced stage of the experiment, before it references some again: a scheduler that started from
// the store could not distinguish them. Returns whether there were any.
bool Scheduler::State::cancel_all_unreferenced(ExperimentId experiment) {
  std::vector<StageId> ids;
  for (const auto& [id, why] : unreferenced_) {
    if (why->experiment == experiment || why->experiment == 0) ids.push_back(id);
  }
  for (const StageId id : ids) cancel_if_unreferenced(id);
  return !ids.empty();
}

// Time has passed.
void Scheduler::State::handle(const Tick&) {
  if (!unreferenced_.empty() && now_.steady >= next_cancellations_at_)
    cancel_unreferenced(policy_.cancellations_per_step);
}

}  // namespace locus

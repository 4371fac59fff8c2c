// Reruns and deletions of what was submitted.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/placement.h"

namespace locus {

void Scheduler::State::handle(const StagesRerun& event) {
  if (cancel_all_unreferenced(event.row.id)) {
    reply(ReplyError{event.reply, make_error(absl::StatusCode::kAborted, ErrorReason::kWrongState,
                                             "stages of experiment " + event.row.name +
                                                 " were still to be cancelled; look them up again and repeat")});
    return;
  }
  const ExperimentSubmitted as_submission = submission_of(event.row, event.stages, event.links);
  Placement placement{.event = &as_submission, .next_stage = next_stage_, .placed = {}, .adopted = {}};
  absl::Status status = check(as_submission);
  if (status.ok()) status = place_all(placement);
  if (!status.ok()) {
    reply(ReplyError{event.reply, std::move(status)});
    return;
  }
  std::vector<StageId> revived;
  for (const Placement::Adopted& adopted : placement.adopted) revived.push_back(adopted.id);
  const bool goes_on = event.search_running && !experiments_.contains(event.row.id);
  if (revived.empty() && !goes_on) {
    reply(ReplySubmitted{event.reply, event.row.id, 0, 0});
    return;
  }
  Experiment& experiment = experiments_[event.row.id];
  if (experiment.row.id == 0) {  // it was cancelled, and so was not here
    experiment.row = event.row;
    experiment.account = accounts_.number_of(event.row.owner);
    take_rules(experiment, event.row.placement);
    experiment.row.state = ExperimentState::kActive;
    experiment.row.reason.clear();
    mutate(SetExperimentState{event.row.id, event.row.state, ExperimentState::kActive, ""});
    announce_experiment(experiment, "experiment-state");
  }
  experiment.cells = event.cells;
  experiment.failures.clear();
  for (const TrialRow& trial : event.trials) experiment.cell_of[trial.ordinal] = trial.cell;
  take_in(placement);
  for (const auto& link : event.links) {
    const Placement::Placed& placed = placement.placed.at(link.identity);
    if (!placed.live) {
      experiment.proven = true;
      continue;
    }
    add_reference(experiment, {placed.id, link.trial}, link.until_step);
  }
  for (const StageId id : revived) {
    Stage* stage = find_stage(id);
    if (stage == nullptr) continue;  // with one that it needs
    refresh_ready(*stage);
    announce_stage(*stage);
    settle(*stage);
  }
  reply(ReplySubmitted{event.reply, event.row.id, 0, static_cast<std::int64_t>(revived.size())});
}

void Scheduler::State::handle(const ExperimentDeleted& event) {
  if (auto found = experiments_.find(event.row.id); found != experiments_.end()) {
    Experiment& experiment = found->second;
    const auto own =
        std::count_if(experiment.references.begin(), experiment.references.end(), [&](const auto& reference) {
          const Wants& wants = stages_.at(reference.first.first).references;
          return std::all_of(wants.begin(), wants.end(), [&](const auto& w) { return w.first.first == event.row.id; });
        });
    if (own > 0 && !event.force) {
      reply(ReplyError{event.reply, make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                                               std::to_string(own) + " stages of experiment " + event.row.name +
                                                   " are not finished; cancel it first, or delete it with force",
                                               "name", {{"name", event.row.name}, {"stages", std::to_string(own)}})});
      return;
    }
    if (event.search_running && !event.force) {
      reply(ReplyError{event.reply, make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                                               "the search of experiment " + event.row.name +
                                                   " has not ended; cancel it first, or delete it with force",
                                               "name", {{"name", event.row.name}})});
      return;
    }
    set_references(experiment, {}, "experiment " + event.row.name + " was deleted");
    experiments_.erase(found);
  }
  decided_.erase(event.row.id);
  mutate(DeleteExperiment{event.row.id});
  const Json json{{"experiments", Json::array({event.row.name})}};
  mutate(AppendEvent{"experiments/" + event.row.name, "experiment-deleted", json.dump()});
  reply(ReplyDone{event.reply});
}

void Scheduler::State::handle(const PurgeDue& event) {
  const bool later = !unreferenced_.empty();
  if (later) {
    cancel_unreferenced(policy_.cancellations_per_step);
  } else {
    mutate(PurgeDeleted{event.trials});
  }
  reply(ReplyDone{event.reply, later});
}

}  // namespace locus

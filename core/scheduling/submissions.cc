// Submissions: what is new is created, what has failed is revived, what no trial references any more is cancelled.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/placement.h"

namespace locus {
namespace {

absl::Status changed_meanwhile(const std::string& what) {
  return make_error(absl::StatusCode::kAborted, ErrorReason::kWrongState,
                    what + " changed while the submission was prepared; look it up again and repeat");
}

absl::Status broken(const std::string& what) {
  return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken, what);
}

}  // namespace

ExperimentSubmitted submission_of(const ExperimentRow& row,
                                  const std::map<std::string, ExperimentSubmitted::StageDraft>& stages,
                                  const std::vector<ExperimentSubmitted::Link>& links) {
  ExperimentSubmitted out;
  out.row = row;
  out.expected_revision = row.revision;
  out.stages = stages;
  out.links = links;
  return out;
}

absl::Status Scheduler::State::check(const ExperimentSubmitted& event) const {
  if (event.row.id == 0) {
    for (const auto& [id, experiment] : experiments_) {
      if (experiment.row.name != event.row.name) continue;
      return make_error(absl::StatusCode::kAlreadyExists, ErrorReason::kExperimentExists,
                        "an experiment named " + event.row.name + " exists already; choose another name", "name",
                        {{"name", event.row.name}});
    }
  } else if (auto live = experiments_.find(event.row.id);
             live != experiments_.end() && live->second.row.revision != event.expected_revision) {
    return changed_meanwhile("experiment " + event.row.name);
  }
  for (const auto& [identity, draft] : event.stages) {
    if (by_identity_.contains(identity) || draft.row.id == 0 || terminal(draft.row.state)) continue;
    return changed_meanwhile("stage " + std::to_string(draft.row.id));
  }
  return absl::OkStatus();
}

// Settles one identity and, first, everything it takes its inputs from.
absl::Status Scheduler::State::place(Placement& placement, const std::string& identity) const {
  if (auto done = placement.placed.find(identity); done != placement.placed.end()) {
    return done->second.open ? broken("stage " + identity + " needs itself") : absl::OkStatus();
  }
  Placement::Placed& placed = placement.placed[identity];
  auto found = placement.event->stages.find(identity);
  if (auto live = by_identity_.find(identity); live != by_identity_.end()) {
    placed = {.id = live->second, .live = true, .open = false, .succeeded = false, .outputs = {}};
    return absl::OkStatus();
  }
  if (found == placement.event->stages.end()) return broken("the submission refers to the unknown stage " + identity);
  const ExperimentSubmitted::StageDraft& draft = found->second;
  if (draft.row.id != 0 && draft.row.state == StageState::kSucceeded) {
    placed = {.id = draft.row.id, .live = false, .open = false, .succeeded = true, .outputs = draft.row.outputs};
    return absl::OkStatus();
  }
  if (draft.row.id != 0 && !revives(placement, identity, draft)) {
    placed = {.id = draft.row.id, .live = false, .open = false, .succeeded = false, .outputs = {}};
    return absl::OkStatus();
  }
  for (const auto& input : draft.inputs) {
    LOCUS_RETURN_IF_ERROR(place(placement, input.identity));
  }
  return adopt(placement, identity, draft);
}

// The stage as it will be: an id, inputs filled as far as their sources have succeeded, blocked or queued
// accordingly.
absl::Status Scheduler::State::adopt(Placement& placement, const std::string& identity,
                                     const ExperimentSubmitted::StageDraft& draft) const {
  Placement::Adopted adopted{.id = 0,
                             .row = draft.row,
                             .from = draft.row.state,
                             .revived = draft.row.id != 0,
                             .resume = draft.resume,
                             .references = draft.references};
  StageRow& row = adopted.row;
  if (!adopted.revived) row.id = placement.next_stage++;
  row.identity = identity;
  row.failure_class = FailureClass::kNone;
  row.reason.clear();
  if (adopted.from == StageState::kParked && row.attempt > 0 && !draft.resume)
    row.reason = "the checkpoint at which it had parked is gone: it begins afresh";
  row.failures = row.faults = 0;
  row.retry_delay_us = 0;
  row.state = StageState::kQueued;
  std::erase_if(row.inputs, [](const StageInput& input) { return input.from_stage != 0; });
  for (const auto& [slot, from] : draft.inputs) {
    const Placement::Placed& source = placement.placed.at(from);
    StageInput input{slot, source.id, ""};
    for (const StageOutput& output : source.outputs) {
      if (output.slot == slot) input.artifact_sha256 = output.sha256;
    }
    if (!source.succeeded) {
      row.state = StageState::kBlocked;
    } else if (input.artifact_sha256.empty()) {
      return broken("stage " + std::to_string(source.id) + " succeeded without the output '" + slot + "'");
    }
    row.inputs.push_back(std::move(input));
  }
  adopted.id = row.id;
  placement.placed[identity] = {.id = row.id, .live = true, .open = false, .succeeded = false, .outputs = {}};
  placement.adopted.push_back(std::move(adopted));
  return absl::OkStatus();
}

absl::Status Scheduler::State::place_all(Placement& placement) const {
  for (const auto& link : placement.event->links) placement.links[link.identity].push_back(&link);
  for (const auto& [identity, draft] : placement.event->stages) {
    LOCUS_RETURN_IF_ERROR(place(placement, identity));
  }
  for (const auto& link : placement.event->links) {
    if (!placement.placed.contains(link.identity)) return broken("a trial links to the unknown stage " + link.identity);
  }
  return absl::OkStatus();
}

// Writes the experiment with everything new and takes it in.
Scheduler::State::Experiment& Scheduler::State::save(Placement& placement) {
  const ExperimentSubmitted& event = *placement.event;
  SaveExperiment save{.expected_revision = event.expected_revision,
                      .row = event.row,
                      .cells = event.cells,
                      .trials = event.trials,
                      .stages = {},
                      .trial_stages = {},
                      .request_id = event.request_id};
  if (save.row.id == 0) save.row.id = next_experiment_++;
  save.row.revision = event.expected_revision + 1;
  auto known = experiments_.find(save.row.id);
  if (known != experiments_.end()) save.row.state = known->second.row.state;
  if (save.row.state == ExperimentState::kCancelled) save.row.state = ExperimentState::kActive;
  for (const Placement::Adopted& adopted : placement.adopted) {
    if (!adopted.revived) save.stages.push_back(adopted.row);
  }
  for (const auto& link : event.links) {
    save.trial_stages.push_back({link.trial, link.role, placement.placed.at(link.identity).id, link.until_step});
  }
  // What was settled since the submission was prepared holds.
  if (known != experiments_.end()) save.row.placement = with_settled(save.row.placement, known->second.row.placement);
  Experiment& experiment = experiments_[save.row.id];
  experiment.row = save.row;
  experiment.account = accounts_.number_of(save.row.owner);
  take_rules(experiment, save.row.placement);
  experiment.cells = static_cast<std::int64_t>(save.cells.size());
  for (const TrialRow& trial : save.trials) experiment.cell_of[trial.ordinal] = trial.cell;
  mutate(std::move(save));
  if (event.decisions) {
    AppendDecisions decisions = *event.decisions;
    decisions.experiment_id = experiment.row.id;
    mutate(decisions);
    remember_decided(experiment.row.id, experiment.row.name, decisions);
  }
  next_stage_ = placement.next_stage;
  take_in(placement);
  return experiment;
}

// Takes the stages in, and writes the revival of those that were terminal. Trials that referenced one before it ended
// reference it again.
void Scheduler::State::take_in(Placement& placement) {
  for (Placement::Adopted& adopted : placement.adopted) {
    if (adopted.revived) {
      SetStageState revival{.stage_id = adopted.row.id,
                            .attempt = adopted.row.attempt,
                            .from = adopted.from,
                            .to = adopted.row.state,
                            .reason = adopted.row.reason,
                            .forgive = true,
                            .inputs = {}};
      for (const StageInput& input : adopted.row.inputs) {
        if (!input.artifact_sha256.empty()) revival.inputs[input.slot] = input.artifact_sha256;
      }
      mutate(std::move(revival));
    }
    Stage& stage = add_stage(std::move(adopted.row));
    stage.resume = adopted.resume;
    if (adopted.from == StageState::kParked) stage.parked_at = steps_done(stage);
    if (const auto behind = behind_parked_.extract(adopted.id)) stage.dependents = behind.mapped();
    link_to_sources(stage);
    for (const StageReference& reference : adopted.references) restore_reference(reference);
  }
}

void Scheduler::State::handle(const ExperimentSubmitted& event) {
  Placement placement{.event = &event, .next_stage = next_stage_, .placed = {}, .adopted = {}};
  placement.replaces = true;
  absl::Status status = check(event);
  if (status.ok()) status = place_all(placement);
  if (!status.ok()) {
    reply(ReplyError{event.reply, std::move(status)});
    return;
  }
  std::vector<StageId> revived;
  for (const Placement::Adopted& adopted : placement.adopted) {
    if (adopted.revived) revived.push_back(adopted.id);
  }
  Experiment& experiment = save(placement);
  std::set<std::int64_t> retired;
  for (const TrialRow& trial : event.trials) {
    if (trial.retired) retired.insert(trial.ordinal);
  }
  TrialStages references;
  std::set<StageId> done, to_run;
  for (const auto& link : event.links) {
    if (retired.contains(link.trial)) continue;
    const Placement::Placed& placed = placement.placed.at(link.identity);
    (placed.live ? to_run : done).insert(placed.id);
    if (placed.live) references.insert({{placed.id, link.trial}, link.until_step});
  }
  if (!done.empty()) experiment.proven = true;
  set_references(experiment, references, "experiment " + experiment.row.name + " no longer references it");
  for (StageId id : revived) {
    if (const Stage* stage = find_stage(id)) announce_stage(*stage);
  }
  announce_experiment(experiment, event.expected_revision == 0 ? "experiment-created" : "experiment-extended");
  reply(ReplySubmitted{event.reply, experiment.row.id, static_cast<std::int64_t>(done.size()),
                       static_cast<std::int64_t>(to_run.size())});
}

void Scheduler::State::handle(const ExperimentStateRequested& event) {
  auto found = experiments_.find(event.id);
  if (found == experiments_.end()) {  // only cancelled ones are not here
    if (event.to == ExperimentState::kCancelled) {
      reply(ReplyDone{event.reply});
    } else {
      reply(ReplyError{event.reply, make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                                               std::string("a cancelled experiment cannot become ") +
                                                   to_string(event.to) + "; rerun it, or submit it again",
                                               {}, {{"state", to_string(event.to)}})});
    }
    return;
  }
  Experiment& experiment = found->second;
  if (experiment.row.state != event.to && event.to != ExperimentState::kActive && experiment.references.empty() &&
      !event.search_running) {
    const std::string verb = event.to == ExperimentState::kCancelled ? "cancel" : "pause";
    reply(
        ReplyError{event.reply, make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                                           "every stage of experiment " + experiment.row.name +
                                               " has ended: there is nothing to " + verb + ", and it is left as it is",
                                           "name", {{"name", experiment.row.name}, {"state", to_string(event.to)}})});
    return;
  }
  if (experiment.row.state != event.to) {
    mutate(SetExperimentState{event.id, experiment.row.state, event.to, ""});
    experiment.row.state = event.to;
    experiment.row.reason.clear();
    experiment.failures.clear();
    announce_experiment(experiment, "experiment-state");
    if (event.to == ExperimentState::kCancelled) {
      set_references(experiment, {}, "experiment " + experiment.row.name + " was cancelled");
      experiments_.erase(found);
    } else {
      for (const auto& [reference, until] : experiment.references) refresh_ready(stages_.at(reference.first));
    }
  }
  reply(ReplyDone{event.reply});
}

}  // namespace locus

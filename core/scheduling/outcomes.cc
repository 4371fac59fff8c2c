// Outcomes: checkpoints, the ends of attempts, and what they mean for the stages behind.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/state.h"

namespace locus {
namespace {

constexpr std::size_t kEndsRemembered = 4096;

absl::Status stale(StageId stage, std::int64_t attempt) {
  return make_error(absl::StatusCode::kAborted, ErrorReason::kStaleAttempt,
                    "attempt " + std::to_string(attempt) + " of stage " + std::to_string(stage) +
                        " is not the newest running one of this worker; drop the work",
                    {}, {{"stage", std::to_string(stage)}, {"attempt", std::to_string(attempt)}});
}

bool newer(const CheckpointCommitted& event, const std::optional<CheckpointRow>& known) {
  return !known || std::pair(event.attempt, event.step) > std::pair(known->attempt, known->step);
}

}  // namespace

void Scheduler::State::handle(const CheckpointCommitted& event) {
  Worker* worker = connected_worker(event.session, event.reply);
  if (worker == nullptr) return;
  Stage* stage = run_by(*worker, event.stage_id, event.attempt);
  if (stage == nullptr) {
    reply(ReplyError{event.reply, stale(event.stage_id, event.attempt)});
    return;
  }
  if (stage->running->checkpoints.insert({event.step, event.sha256}).second) {
    mutate(CommitCheckpoint{event.stage_id, event.attempt, event.step, event.sha256, event.best});
    if (newer(event, stage->resume)) {
      stage->resume = CheckpointRow{event.stage_id, event.attempt, event.step, event.sha256, event.best};
    }
    stage->strikes = {};
    const Json json{{"experiments", experiments_of(*stage)}, {"attempt", event.attempt}, {"step", event.step}};
    mutate(AppendEvent{"stages/" + std::to_string(event.stage_id), "checkpoint", json.dump()});
  }
  reply(ReplyDone{event.reply});
}

void Scheduler::State::handle(const AttemptCompleted& event) {
  Worker* worker = connected_worker(event.session, event.reply);
  if (worker == nullptr) return;
  if (event.outcome == AttemptState::kRunning || event.outcome == AttemptState::kLost) {
    reply(ReplyError{event.reply,
                     make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                                std::string("an attempt cannot be completed as ") + to_string(event.outcome) +
                                    "; say succeeded, failed, stopped, parked or cancelled",
                                "outcome", {{"outcome", to_string(event.outcome)}})});
    return;
  }
  Stage* stage = run_by(*worker, event.stage_id, event.attempt);
  if (stage == nullptr) {
    answer_ended(event);
    return;
  }
  const bool failed = event.outcome == AttemptState::kFailed;
  Ending ending{.outcome = event.outcome,
                .failure_class = failed ? event.failure_class : FailureClass::kNone,
                .reason = event.reason};
  if (failed && ending.failure_class == FailureClass::kNone) ending.failure_class = FailureClass::kCode;
  if (event.outcome == AttemptState::kStopped && stage->running->halt) {
    ending.failure_class = FailureClass::kPreempted;
    ending.reason = stage->running->halt->reason;
  }
  if (ending.reason.size() > kReasonLength) ending.reason.resize(kReasonLength);
  if (event.outcome == AttemptState::kParked) judge_parked(*stage, ending, event.step);
  EndAttempt end;
  end.environment_json = event.environment_json;
  end.results = event.results;
  end.outputs = event.outputs;
  end_attempt(*stage, ending, std::move(end));
  reply(ReplyDone{event.reply});
}

// The stage is not this attempt's any more. Saying the same again is fine; so is anything about a cancelled
// attempt.
void Scheduler::State::answer_ended(const AttemptCompleted& event) {
  auto ended = ended_.find({event.stage_id, event.attempt});
  if (ended != ended_.end() && (ended->second == event.outcome || ended->second == AttemptState::kCancelled)) {
    reply(ReplyDone{event.reply});
  } else {
    reply(ReplyError{event.reply, stale(event.stage_id, event.attempt)});
  }
}

// Ends the running attempt and moves the stage on. `stage` may be gone afterwards.
void Scheduler::State::end_attempt(Stage& stage, const Ending& ending, EndAttempt mutation) {
  Worker& worker = workers_.at(stage.running->worker);
  const StageId id = stage.row.id;
  const auto references = stage.references;
  if (ending.failure_class == FailureClass::kWorkerLost && !ending.uncounted) {
    stage.strikes.count += 1;
    stage.strikes.workers.insert(worker.row.id);
  }
  bool others = false;
  if (rule_of(ending.failure_class).budget_elsewhere > 0) {
    stage.requirement = requirements_.on_another_worker(stage.requirement, worker.row.id);
    others = untried(stage.requirement);
  }
  const int live = ending.outcome == AttemptState::kSucceeded ? 0 : live_workers();  // which success does not ask for
  const Consequence verdict = judge(stage.row, ending, stage.strikes, live, policy_, others);
  const std::vector<StageOutput> outputs = mutation.outputs;
  mutation.stage_id = stage.row.id;
  mutation.attempt = stage.row.attempt;
  mutation.outcome = ending.outcome;
  mutation.failure_class = ending.failure_class;
  mutation.reason = verdict.reason;
  mutation.ended_us = now_.wall;
  mutation.stage_state = verdict.to;
  mutation.counts_as_failure = verdict.counts_as_failure;
  mutation.counts_as_fault = verdict.counts_as_fault;
  mutation.retry_delay_us = verdict.delay;
  if (ending.outcome != AttemptState::kSucceeded) {
    mutation.results.clear();
    mutation.outputs.clear();
  }
  mutate(std::move(mutation));

  vacate(worker, stage);
  remember_end({stage.row.id, stage.row.attempt}, ending.outcome);
  stage.preferred_worker = worker.row.id;
  if (rule_of(ending.failure_class).avoid_same_worker) stage.avoid.insert(worker.row.id);
  give_share(stage);
  stage.running.reset();
  stage.row.state = verdict.to;
  stage.row.failure_class = ending.failure_class;
  stage.row.reason = verdict.reason;
  stage.row.failures += verdict.counts_as_failure ? 1 : 0;
  stage.row.faults += verdict.counts_as_fault ? 1 : 0;
  stage.row.retry_delay_us = verdict.delay;
  stage.not_before = verdict.delay > 0 ? now_.steady + verdict.delay : 0;
  announce_attempt(stage, "attempt-ended", &worker, to_string(ending.outcome));
  announce_stage(stage);
  if (ending.outcome == AttemptState::kParked) note_success(stage, worker);
  if (verdict.to == StageState::kQueued) {
    if (ending.goes_on) stage.parked_at = steps_done(stage);
    refresh_ready(stage);
    settle(stage);
  } else if (verdict.to == StageState::kParked) {
    park(id);
  } else if (verdict.to == StageState::kSucceeded) {
    note_success(stage, worker);
    succeed(stage, outputs);
  } else {
    cancel_dependents(stage);
    retire(id);
  }
  if (verdict.counts_as_failure) note_failure(id, references, worker.row.id, ending);
}

void Scheduler::State::lose(Stage& stage, const std::string& reason, bool strike, bool uncounted) {
  const Ending ending{.outcome = AttemptState::kLost,
                      .failure_class = strike ? FailureClass::kWorkerLost : FailureClass::kPreempted,
                      .reason = reason,
                      .uncounted = uncounted};
  end_attempt(stage, ending, EndAttempt{});
}

void Scheduler::State::succeed(Stage& stage, const std::vector<StageOutput>& outputs) {
  const std::set<StageId> dependents = stage.dependents;
  for (StageId id : dependents) {
    Stage* dependent = find_stage(id);
    if (dependent != nullptr && dependent->row.state == StageState::kBlocked) fill_inputs(*dependent, stage, outputs);
  }
  retire(stage.row.id);
}

// Gives the stage what `source` made; it is queued when that was the last it waited for, and stays blocked
// otherwise.
void Scheduler::State::fill_inputs(Stage& stage, const Stage& source, const std::vector<StageOutput>& outputs) {
  SetStageState mutation{.from = StageState::kBlocked, .to = StageState::kQueued, .reason = {}, .inputs = {}};
  for (StageInput& input : stage.row.inputs) {
    if (input.from_stage == source.row.id) {
      auto made =
          std::find_if(outputs.begin(), outputs.end(), [&](const StageOutput& o) { return o.slot == input.slot; });
      if (made == outputs.end()) {
        cancel(stage, "stage " + std::to_string(source.row.id) + " (" + source.row.kind +
                          ") succeeded without the output '" + input.slot + "' it needs");
        return;
      }
      input.artifact_sha256 = made->sha256;
      mutation.inputs[input.slot] = made->sha256;
    }
    if (input.artifact_sha256.empty()) mutation.to = StageState::kBlocked;
  }
  stage.preferred_worker = source.preferred_worker;
  set_state(stage, std::move(mutation));
}

void Scheduler::State::cancel_dependents(const Stage& stage) {
  const std::set<StageId> dependents = stage.dependents;
  const std::string reason = "stage " + std::to_string(stage.row.id) + " (" + stage.row.kind +
                             "), which it needs, is " + to_string(stage.row.state);
  for (StageId id : dependents) {
    if (Stage* dependent = find_stage(id)) cancel(*dependent, reason);
  }
}

// Ends a live stage because no trial references it or it can never start. A running attempt ends at once in the
// books; its worker learns at its next heartbeat, and whatever it still sends is refused or ignored.
void Scheduler::State::cancel(Stage& stage, const std::string& reason) {
  const StageId id = stage.row.id;
  if (stage.running) {
    Worker& worker = workers_.at(stage.running->worker);
    EndAttempt end;
    end.stage_id = id;
    end.attempt = stage.row.attempt;
    end.outcome = AttemptState::kCancelled;
    end.reason = reason;
    end.ended_us = now_.wall;
    end.stage_state = StageState::kCancelled;
    mutate(std::move(end));
    vacate(worker, stage);
    remember_end({id, stage.row.attempt}, AttemptState::kCancelled);
    give_share(stage);
    stage.running.reset();
    stage.row.state = StageState::kCancelled;
    stage.row.reason = reason;
    announce_attempt(stage, "attempt-ended", &worker, to_string(AttemptState::kCancelled));
    announce_stage(stage);
  } else {
    set_state(stage,
              SetStageState{.from = stage.row.state, .to = StageState::kCancelled, .reason = reason, .inputs = {}});
  }
  cancel_dependents(stage);
  retire(id);
}

void Scheduler::State::set_state(Stage& stage, SetStageState mutation) {
  mutation.stage_id = stage.row.id;
  mutation.attempt = stage.row.attempt;
  stage.row.state = mutation.to;
  stage.row.failure_class = mutation.failure_class;
  stage.row.reason = mutation.reason;
  mutate(std::move(mutation));
  refresh_ready(stage);
  announce_stage(stage);
}

void Scheduler::State::retire(StageId id) {
  Stage& stage = stages_.at(id);
  refresh_ready(stage);  // out of the queues, whatever state it has now
  for (const auto& [reference, until] : stage.references) {
    auto found = experiments_.find(reference.first);
    if (found != experiments_.end()) found->second.references.erase({id, reference.second});
  }
  for (const StageInput& input : stage.row.inputs) {
    const auto behind = behind_parked_.find(input.from_stage);
    if (behind == behind_parked_.end()) continue;
    behind->second.erase(id);
    if (behind->second.empty()) behind_parked_.erase(behind);
  }
  by_identity_.erase(stage.row.identity);
  unreferenced_.erase(id);
  stages_.erase(id);
}

void Scheduler::State::remember_end(AttemptKey key, AttemptState outcome) {
  if (ended_.insert_or_assign(key, outcome).second) ended_order_.push_back(key);
  if (ended_order_.size() <= kEndsRemembered) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

int Scheduler::State::live_workers() const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.row.state == WorkerState::kActive;
  }));
}

}  // namespace locus

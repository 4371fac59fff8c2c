// Searches, as far as the scheduler knows them: how far each stage is wanted, what parks there, and what goes on when a
// search has decided.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/placement.h"

namespace locus {

// The furthest that any link wants: kToTheEnd before any step, kNoFurther where none wants one.
std::int64_t Scheduler::Records::stop_point(const Wants& wants) {
  std::int64_t furthest = kNoFurther;
  for (const auto& [reference, until] : wants) {
    if (until == kToTheEnd) return kToTheEnd;
    furthest = std::max(furthest, until);
  }
  return furthest;
}

bool Scheduler::Records::wants_more(std::int64_t until, std::int64_t done) {
  return until == kToTheEnd || until > done;
}

std::int64_t Scheduler::Records::steps_done(const Stage& stage) { return stage.resume ? stage.resume->step : 0; }

// Whether a stage that does not run need not run for anybody. At its stop point exactly it must: its checkpoint may be older
// than its validation there.
bool Scheduler::Records::unwanted(const Stage& stage) {
  if (stage.references.empty()) return false;  // cancelled in its turn
  const std::int64_t stop = stop_point(stage.references);
  return stop == kNoFurther || (stop != kToTheEnd && (stop < steps_done(stage) || stop <= stage.parked_at));
}

// Where a trainer that parked has its stage go: on, if the stop point was raised meanwhile. One that names a step without
// a checkpoint there has not parked.
void Scheduler::State::judge_parked(const Stage& stage, Ending& ending, std::int64_t step) const {
  const std::int64_t done = steps_done(stage);
  if (step > done) {
    ending.outcome = AttemptState::kFailed;
    ending.failure_class = FailureClass::kCode;
    ending.reason = "its trainer parked at step " + std::to_string(step) + ", and its newest checkpoint is of step " +
                    std::to_string(done);
    return;
  }
  ending.goes_on = wants_more(stop_point(stage.references), done);
  ending.reason = "parked at step " + std::to_string(done) +
                  (ending.goes_on ? ", and is wanted further since" : ": nobody wants it to go further for now");
}

// Ends a queued stage that nobody wants a step of, and a blocked one likewise. `stage` is gone then.
void Scheduler::State::settle(Stage& stage) {
  if (stage.row.state == StageState::kBlocked && !stage.references.empty() &&
      stop_point(stage.references) == kNoFurther) {
    cancel(stage, "its search wants no more of its trial");
  } else if (stage.row.state == StageState::kQueued && unwanted(stage)) {
    const StageId id = stage.row.id;
    set_state(stage, SetStageState{.from = StageState::kQueued,
                                   .to = StageState::kParked,
                                   .reason = "parked at step " + std::to_string(steps_done(stage)) +
                                             ": nobody wants it to go further for now",
                                   .inputs = {}});
    park(id);
  }
}

// Forgets a stage that has parked. What waits for what it makes goes on waiting.
void Scheduler::State::park(StageId id) {
  std::set<StageId> dependents = stages_.at(id).dependents;
  std::erase_if(dependents, [this](StageId dependent) { return find_stage(dependent) == nullptr; });
  retire(id);
  if (!dependents.empty()) behind_parked_.insert_or_assign(id, std::move(dependents));
}

// Whether a stage that has ended without success is to run again.
bool Scheduler::State::revives(const Placement& placement, const std::string& identity,
                               const ExperimentSubmitted::StageDraft& draft) {
  const bool parked = draft.row.state == StageState::kParked;
  const auto links = placement.links.find(identity);
  if (!parked && links == placement.links.end()) return true;  // what another one needs
  Wants wants;
  for (const StageReference& reference : draft.references) {
    if (placement.replaces && reference.experiment == placement.event->row.id) continue;
    wants[{reference.experiment, reference.trial}] = reference.until_step;
  }
  bool raised = false;
  if (links != placement.links.end()) {
    for (const ExperimentSubmitted::Link* link : links->second) {
      const auto [want, added] = wants.try_emplace({placement.event->row.id, link->trial}, kNoFurther);
      raised = raised || (want->second != kToTheEnd && wants_more(link->until_step, want->second));
      want->second = link->until_step;
    }
  }
  const std::int64_t stop = stop_point(wants);
  if (!parked) return placement.decided ? raised : stop != kNoFurther;
  return wants_more(stop, draft.resume ? draft.resume->step : 0);
}

void Scheduler::State::remember_decided(ExperimentId experiment, const std::string& name,
                                        const AppendDecisions& decisions) {
  const std::int64_t number = decisions.expected + static_cast<std::int64_t>(decisions.rows.size());
  decided_[experiment] = number;
  const Json json{{"experiments", Json::array({name})}, {"decided", number}};
  mutate(AppendEvent{"experiments/" + name, "search-decided", json.dump()});
}

absl::Status Scheduler::State::check(const SearchDecided& event) const {
  const auto changed = [&](const std::string& how) {
    return make_error(
        absl::StatusCode::kAborted, ErrorReason::kWrongState,
        "experiment " + event.row.name + " " + how + " since its search was judged; judge it again and repeat");
  };
  if (const auto known = decided_.find(event.row.id);
      known != decided_.end() && known->second != event.decisions.expected)
    return changed("has " + std::to_string(known->second) + " decisions instead of " +
                   std::to_string(event.decisions.expected));
  if (!experiments_.contains(event.row.id) && !event.links.empty()) return changed("was cancelled");
  return absl::OkStatus();
}

void Scheduler::State::handle(const SearchDecided& event) {
  const ExperimentSubmitted as_submission = submission_of(event.row, event.stages, event.links);
  Placement placement{.event = &as_submission, .next_stage = next_stage_, .placed = {}, .adopted = {}};
  placement.decided = true;
  absl::Status status = check(event);
  if (status.ok()) status = check(as_submission);
  if (status.ok()) status = place_all(placement);
  if (!status.ok()) {
    reply(ReplyError{event.reply, std::move(status)});
    return;
  }
  AppendDecisions decisions = event.decisions;
  decisions.experiment_id = event.row.id;
  mutate(decisions);
  resolve(event, placement);
  next_stage_ = placement.next_stage;
  take_in(placement);
  if (const auto found = experiments_.find(event.row.id); found != experiments_.end())
    take_wants(found->second, event, placement);
  for (const Placement::Adopted& adopted : placement.adopted) {
    const Stage* stage = adopted.revived ? find_stage(adopted.id) : nullptr;
    if (stage != nullptr) announce_stage(*stage);
  }
  remember_decided(event.row.id, event.row.name, decisions);
  reply(ReplyDone{event.reply});
}

// Writes what is new of the experiment.
void Scheduler::State::resolve(const SearchDecided& event, const Placement& placement) {
  ResolveTrials resolved{
      .id = event.row.id, .cells = event.cells, .trials = event.trials, .stages = {}, .trial_stages = {}};
  for (const Placement::Adopted& adopted : placement.adopted) {
    if (!adopted.revived) resolved.stages.push_back(adopted.row);
  }
  for (const auto& link : event.links)
    resolved.trial_stages.push_back({link.trial, link.role, placement.placed.at(link.identity).id, link.until_step});
  if (resolved.cells.empty() && resolved.trials.empty() && resolved.trial_stages.empty()) return;
  mutate(std::move(resolved));
}

// Moves what the experiment wants of each linked stage, and settles those that wait.
void Scheduler::State::take_wants(Experiment& experiment, const SearchDecided& event, const Placement& placement) {
  experiment.cells += static_cast<std::int64_t>(event.cells.size());
  for (const TrialRow& trial : event.trials) experiment.cell_of[trial.ordinal] = trial.cell;
  std::set<StageId> moved;
  for (const auto& link : event.links) {
    const Placement::Placed& placed = placement.placed.at(link.identity);
    if (placed.succeeded) experiment.proven = true;
    if (!placed.live) continue;
    add_reference(experiment, {placed.id, link.trial}, link.until_step);
    moved.insert(placed.id);
  }
  for (const StageId id : moved) {
    Stage* stage = find_stage(id);
    if (stage == nullptr) continue;  // cancelled with one that it needs
    refresh_ready(*stage);
    settle(*stage);
  }
}

}  // namespace locus

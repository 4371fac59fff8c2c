// The scheduler's life cycle: restored from a snapshot, stepped, woken; and what it says about changes.
#include "core/scheduling/state.h"

#include <algorithm>

namespace locus {

// Reasons come from outside and may hold anything: never throws.
std::string Scheduler::State::event_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Scheduler::State::State(const Snapshot& snapshot, Now now, SchedulerPolicy policy)
    : Records(policy, now), last_step_(now.steady) {
  restore(snapshot);
}

// Not inline: gcc 12 follows a variant's moves into its callers and then warns of alternatives it never
// holds.
void Scheduler::State::reply(Command command) { decision_->commands.push_back(std::move(command)); }

void Scheduler::State::restore(const Snapshot& snapshot) {
  next_experiment_ = snapshot.next_experiment;
  next_stage_ = snapshot.next_stage;
  next_worker_ = snapshot.next_worker;
  for (const AccountRow& row : snapshot.accounts) accounts_.restore(row);
  for (const UsageRow& row : snapshot.usage) accounts_.restore(row);
  for (const ExperimentRow& row : snapshot.experiments) {
    Experiment& experiment = experiments_[row.id];
    experiment.row = row;
    experiment.account = accounts_.number_of(row.owner);
    take_rules(experiment, row.placement);
    experiment.proven = snapshot.proven.contains(row.id);
    if (const auto cells = snapshot.cells.find(row.id); cells != snapshot.cells.end()) experiment.cells = cells->second;
  }
  for (const WorkerRow& row : snapshot.workers) {
    worker_names_.try_emplace(row.name, row.id);
    workers_[row.id].row = row;
    workers_[row.id].heard = now_.steady;
    find_slots(workers_[row.id]);
    note_later_drain(row);
    workers_[row.id].labels = stored_labels(row.labels_json).effective();
  }
  for (const StageRow& row : snapshot.stages) add_stage(row);
  for (const auto& [id, stage] : stages_) link_to_sources(stage);
  for (const auto& [id, checkpoint] : snapshot.resume) {
    if (Stage* stage = find_stage(id)) stage->resume = checkpoint;
  }
  for (const StageReference& reference : snapshot.references) restore_reference(reference);
  for (const AttemptRow& row : snapshot.running) {
    Stage* stage = find_stage(row.stage_id);
    if (stage == nullptr) continue;
    Worker& worker = workers_[row.worker_id];
    worker.row.id = row.worker_id;
    worker.heard = now_.steady;
    stage->running = Running{.worker = row.worker_id,
                             .slots = row.slots,
                             .listed = now_.steady,
                             .acknowledged = true,
                             .resume_sha256 = row.resume_sha256,
                             .resume_step = row.resume_step,
                             .progress = {row.stage_id, row.number, row.resume_step, 0, ""},
                             .first_step = 0,
                             .first_at = 0,
                             .checkpoints = {},
                             .service_class = row.service_class,
                             .accounts = {},
                             .part = 0,
                             .started = now_.steady - std::max<Microseconds>(0, now_.wall - row.started_us),
                             .ends_by = 0,
                             .backfilled = false,
                             .halt = {}};
    occupy(worker, *stage);
    stage->running->ends_by = latest_end(*stage);
    find_share(*stage, row);
  }
  for (auto& [id, stage] : stages_) {
    if (stage.row.state == StageState::kQueued && stage.row.retry_delay_us > 0) {
      stage.not_before = now_.steady + stage.row.retry_delay_us;
    }
    refresh_ready(stage);
  }
  const auto orphan = std::make_shared<const Unreferenced>(Unreferenced{0, "", "no experiment references it any more"});
  for (const auto& [id, stage] : stages_) {
    if (stage.references.empty()) unreferenced_.emplace_hint(unreferenced_.end(), id, orphan);
  }
  // Not at once: it may be a refusing store that was turned to again.
  turned_to_store_ = now_.steady;
  next_cancellations_at_ = now_.steady + policy_.heartbeat;
}

Decision Scheduler::State::step(const Event& event, Now now) {
  Decision decision;
  decision_ = &decision;
  forgive_own_pause(now);
  now_ = now;
  last_step_ = now.steady;
  const bool only_heard = std::holds_alternative<LeasesSynced>(event) || std::holds_alternative<Tick>(event) ||
                          std::holds_alternative<CheckpointCommitted>(event);
  if (!only_heard) fruitless_until_ = 0;
  // The event first: a heartbeat that arrives together with the end of its lease renews it.
  std::visit([this](const auto& e) { handle(e); }, event);
  begin_drains();
  lose_silent_workers();
  release_back_offs();
  match();
  halt_overdue();
  preempt();
  end_halted();
  expire_waits();
  charge();
  decision_ = nullptr;
  return decision;
}

std::optional<Microseconds> Scheduler::State::next_wake() const {
  std::optional<Microseconds> wake;
  auto consider = [&wake](Microseconds at) { wake = wake ? std::min(*wake, at) : at; };
  for (const Waiting& waiting : waiting_) consider(waiting.deadline);
  if (!backing_off_.empty()) consider(backing_off_.begin()->first);
  if (!unreferenced_.empty()) consider(next_cancellations_at_);
  if (!later_drains_.empty()) consider(next_drain());
  for (const StageId id : halting_) {
    const Stage* stage = Records::find_stage(id);
    if (stage != nullptr && stage->running && stage->running->halt)
      consider(stage->running->halt->since + policy_.preempt_wait);
  }
  if (silent_at_ < last_step_ + policy_.heartbeat) silent_at_ = first_silence();
  if (silent_at_ != kNever) {
    consider(silent_at_);
    consider(last_step_ + policy_.heartbeat);
  }
  return wake;
}

std::vector<ReplyToken> Scheduler::State::waiting() const {
  std::vector<ReplyToken> tokens;
  for (const Waiting& waiting : waiting_) tokens.push_back(waiting.reply);
  return tokens;
}

Scheduler::Records::Stage* Scheduler::State::find_stage(StageId id) {
  auto found = stages_.find(id);
  return found == stages_.end() ? nullptr : &found->second;
}

void Scheduler::State::link_to_sources(const Stage& stage) {
  for (const StageInput& input : stage.row.inputs) {
    if (Stage* source = find_stage(input.from_stage)) {
      source->dependents.insert(stage.row.id);
    } else if (input.from_stage != 0 && input.artifact_sha256.empty()) {
      behind_parked_[input.from_stage].insert(stage.row.id);
    }
  }
}

void Scheduler::State::restore_reference(const StageReference& reference) {
  Stage* stage = find_stage(reference.stage);
  const auto experiment = experiments_.find(reference.experiment);
  if (stage == nullptr || experiment == experiments_.end()) return;
  stage->references[{reference.experiment, reference.trial}] = reference.until_step;
  experiment->second.references[{reference.stage, reference.trial}] = reference.until_step;
  experiment->second.cell_of[reference.trial] = reference.cell;
}

Scheduler::Records::Stage& Scheduler::State::add_stage(StageRow row) {
  const StageId id = row.id;
  Stage& stage = stages_[id];
  stage.requirement = requirements_.intern(row.requirements);
  by_identity_[row.identity] = id;
  stage.row = std::move(row);
  return stage;
}

void Scheduler::State::announce_stage(const Stage& stage) {
  const Json json{{"experiments", experiments_of(stage)},
                  {"state", to_string(stage.row.state)},
                  {"failure_class", to_string(stage.row.failure_class)},
                  {"attempt", stage.row.attempt},
                  {"reason", stage.row.reason}};
  mutate(AppendEvent{"stages/" + std::to_string(stage.row.id), "stage-state", event_text(json)});
}

void Scheduler::State::announce_attempt(const Stage& stage, const char* kind, const Worker* worker,
                                        const char* outcome) {
  const Json json{{"experiments", experiments_of(stage)},
                  {"attempt", stage.row.attempt},
                  {"worker", worker == nullptr ? "" : worker->row.name},
                  {"outcome", outcome}};
  mutate(AppendEvent{"stages/" + std::to_string(stage.row.id), kind, event_text(json)});
}

void Scheduler::State::announce_worker(const Worker& worker, const char* kind) {
  const Json json{
      {"experiments", Json::array()}, {"state", to_string(worker.row.state)}, {"reason", worker.row.reason}};
  mutate(AppendEvent{"workers/" + worker.row.name, kind, event_text(json)});
}

void Scheduler::State::announce_experiment(const Experiment& experiment, const char* kind) {
  const Json json{{"experiments", Json::array({experiment.row.name})},
                  {"state", to_string(experiment.row.state)},
                  {"reason", experiment.row.reason}};
  mutate(AppendEvent{"experiments/" + experiment.row.name, kind, event_text(json)});
}

}  // namespace locus

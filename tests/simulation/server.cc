// The simulated server: see server.h.
#include "tests/simulation/server.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/experiment/labels.h"

namespace locus::simulation {
namespace {

absl::Status disk_error() {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed, "the disk refuses to write");
}

ReplyToken token_of(const Command& command) {
  return std::visit([](const auto& reply) { return reply.reply; }, command);
}

void forget_alone(StageRow& row) {
  if (!row.requirements) return;
  StageRequirements asked = *row.requirements;
  asked.exclusive = false;
  row.requirements = std::make_shared<const StageRequirements>(std::move(asked));
}

}  // namespace

void ServerProcess::on_crash() {
  scheduler_.reset();
  callers_.clear();
  wake_.reset();
  crash_point_ = CrashPoint::kNowhere;
  lie_ = false;
  conduct_planned_ = false;
}

void ServerProcess::forget_planned_faults() {
  disk_refuses_ = lie_ = false;
  crash_point_ = CrashPoint::kNowhere;
}

Snapshot ServerProcess::load() {
  Snapshot snapshot = ledger_.load().value();
  std::erase_if(snapshot.stages, [this](const StageRow& row) {
    return forgotten_.contains(row.id) && row.state == StageState::kQueued;
  });
  if (mutant_ == Mutant::kGrantsBeyond) {
    for (StageReference& reference : snapshot.references) reference.until_step = kToTheEnd;
  }
  std::set<StageId> referenced;
  for (const StageReference& reference : snapshot.references) referenced.insert(reference.stage);
  const auto unreferenced = [&](const StageRow& row) { return !referenced.contains(row.id); };
  unreferenced_found_ += std::ranges::count_if(snapshot.stages, unreferenced);
  if (mutant_ == Mutant::kForgetsUnreferenced) std::erase_if(snapshot.stages, unreferenced);
  if (mutant_ == Mutant::kForgetsLimit) {
    for (ExperimentRow& row : snapshot.experiments) row.stage_seconds = 0;
  }
  if (mutant_ == Mutant::kForgetsBounds) {
    for (AccountRow& row : snapshot.accounts) row.devices = row.urgent_devices = kUnbounded;
  }
  if (mutant_ == Mutant::kForgetsOwners) {
    for (ExperimentRow& row : snapshot.experiments) row.owner = "ada";
  }
  forget_places(snapshot);
  return snapshot;
}

void ServerProcess::charge_victims(Decision& decision) const {
  if (mutant_ != Mutant::kChargesVictims) return;
  for (Mutation& mutation : decision.mutations) {
    auto* end = std::get_if<EndAttempt>(&mutation);
    if (end != nullptr && end->reason.starts_with("pre-empted by")) end->counts_as_fault = true;
  }
}

void ServerProcess::rebuild() {
  ledger_.exchanges().forget_asked();
  ledger_.places().restarted(ledger_, world_.now());
  scheduler_ = std::make_unique<Scheduler>(load(), now_here(), policy_);
  schedule_wake();
}

void ServerProcess::ask(Event event, Respond respond) {
  const ReplyToken token = next_token_++;
  callers_[token] = std::move(respond);
  std::visit(
      [token](auto& e) {
        if constexpr (requires { e.reply; }) e.reply = token;
      },
      event);
  step(event);
}

// The session whose daemon lives under the name that another one asks for; empty when it may have it. Invariant 13.
std::string ServerProcess::holder_to_stay(const Event& event) const {
  const auto* asks = std::get_if<WorkerRegistered>(&event);
  if (asks == nullptr || asks->take_over) return "";
  const std::vector<WorkerView> views = scheduler_->workers(now_here());
  const bool heard = std::any_of(views.begin(), views.end(), [&](const WorkerView& view) {
    return view.name == asks->name && (view.state == "active" || view.state == "draining");
  });
  const std::vector<WorkerRow> rows = ledger_.workers().value();
  for (const WorkerRow& row : rows) {
    if (heard && row.name == asks->name && row.session != asks->session && row.instance != asks->instance)
      return row.session;
  }
  return "";
}

void ServerProcess::step(const Event& event) {
  const std::string holder = holder_to_stay(event);
  Event given = event;
  if (auto* asks = std::get_if<WorkerRegistered>(&given)) {
    asks->take_over = asks->take_over || mutant_ == Mutant::kGivesNamesAway;
    if (mutant_ == Mutant::kIgnoresData) asks->datasets.reset();
    if (mutant_ == Mutant::kBelievesLabels) asks->labels.granted.merge(asks->labels.announced);
    if (mutant_ == Mutant::kForgetsEnds) asks->time_left.reset();
  }
  Decision decision = scheduler_->step(given, now_here());
  note_life(event, decision);
  charge_victims(decision);
  for (const Mutation& mutation : decision.mutations) {
    const auto* put = std::get_if<PutWorker>(&mutation);
    if (put != nullptr && !holder.empty() && put->row.name == std::get<WorkerRegistered>(event).name &&
        put->row.session != holder)
      throw Violation(13, put->row.name + " was taken from a daemon that lives");
  }
  if (!decision.mutations.empty()) {
    if (crash_point_ == CrashPoint::kBeforeCommit) return crash();
    const absl::Status stored = commit(decision.mutations);
    if (crash_point_ == CrashPoint::kAfterCommit) return crash();
    if (!stored.ok()) {
      world_.trace("  the store refuses: ", stored.ToString());
      refuse_all(decision, stored);
      rebuild();
      all_moved_ = true;
      conduct_soon(3 * kSecond);
      return;
    }
    note_moved(decision.mutations);
  }
  ledger_.exchanges().check_ended(world_.now(), preempt_wait_);
  carry_out(decision.commands);
  if (mutant_ == Mutant::kForgetsRequeue) forget_lost(decision.mutations);
  schedule_wake();
}

absl::Status ServerProcess::commit(const std::vector<Mutation>& mutations) {
  if (disk_refuses_) return disk_error();
  if (absl::Status status = ledger_.apply(mutations, wall()); !status.ok()) return status;
  return std::exchange(lie_, false) ? disk_error() : absl::OkStatus();
}

void ServerProcess::refuse_all(const Decision& decision, const absl::Status& status) {
  for (const Command& command : decision.commands) answer(token_of(command), {.status = status});
  for (ReplyToken token : scheduler_->waiting()) {
    answer(token, {.status = absl::UnavailableError("the server is starting again")});
  }
}

void ServerProcess::answer(ReplyToken token, const Answer& answer) {
  auto caller = callers_.find(token);
  if (caller == callers_.end()) return;
  const Respond respond = std::move(caller->second);
  callers_.erase(caller);
  respond(answer);
}

void ServerProcess::carry_out(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    Answer result;
    if (const auto* error = std::get_if<ReplyError>(&command)) result.status = error->status;
    if (const auto detail = error_detail(result.status)) ++refusals_[std::string(to_string(detail->reason))];
    if (const auto* grant = std::get_if<ReplyGrant>(&command)) {
      result.grant = grant->grant;
      if (grant->grant) ledger_.check_limit(*grant->grant);
    }
    if (const auto* wishes = std::get_if<ReplyWishes>(&command)) {
      result.wishes = wishes->wishes;
      result.until = wishes->until;
    }
    answer(token_of(command), result);
  }
}

void ServerProcess::schedule_wake() {
  const auto wanted = scheduler_->next_wake();
  if (!wanted || (wake_ && *wake_ <= *wanted)) return;
  wake_ = wanted;
  after(*wanted - steady(), [this, meant = *wanted] {
    if (!wake_ || *wake_ != meant) return;
    wake_.reset();
    step(Tick{});
  });
}

// The planted defect: as if nobody compared tokens.
void ServerProcess::unfence(std::string& session, StageId stage, std::int64_t& attempt) {
  if (mutant_ != Mutant::kNoFence) return;
  const auto row = ledger_.stage(stage);
  if (!row.ok() || row->state != StageState::kRunning || row->attempt == attempt) return;
  attempt = row->attempt;
  const std::vector<AttemptRow> attempts = ledger_.attempts(stage).value();
  session = attempts.back().session;
}

void ServerProcess::report_points(PointAppend append, Respond respond) {
  std::string session;
  unfence(session, append.stage_id, append.attempt);
  if (mutant_ == Mutant::kAckBeforeCommit) {
    const auto last = append.first_seq + static_cast<std::int64_t>(append.points.size()) - 1;
    respond({.status = {}, .acked = last});
    after(kMillisecond / 2, [this, append] {
      if (!disk_refuses_) (void)ledger_.append(append, wall());
    });
    return;
  }
  if (disk_refuses_) return respond({.status = disk_error()});
  const auto highest = ledger_.append(append, wall());
  if (const auto detail = error_detail(highest.status())) ++refusals_[std::string(to_string(detail->reason))];
  respond(highest.ok() ? Answer{.status = {}, .acked = *highest} : Answer{.status = highest.status()});
}

void ServerProcess::upload(const std::string& sha256, Respond respond) {
  if (disk_refuses_) return respond({.status = disk_error()});
  ledger_.blobs().insert(sha256);  // durable first, then named by a row
  const std::vector<Mutation> put = {PutArtifact{sha256, "checkpoint", "store:" + sha256, 1}};
  respond({.status = ledger_.apply(put, wall())});
}

void ServerProcess::commit_checkpoint(CheckpointCommitted event, Respond respond) {
  unfence(event.session, event.stage_id, event.attempt);
  if (const auto stored = ledger_.artifact(event.sha256); !stored.ok()) return respond({.status = stored.status()});
  ask(std::move(event), std::move(respond));
}

void ServerProcess::complete(AttemptCompleted event, std::int64_t last_seq, Respond respond) {
  unfence(event.session, event.stage_id, event.attempt);
  const auto attempts = ledger_.attempts(event.stage_id);
  if (!attempts.ok()) return respond({.status = attempts.status()});  // deleted meanwhile
  for (const AttemptRow& row : *attempts) {
    if (row.number != event.attempt) continue;
    if (row.state == event.outcome) return respond({});  // said before
    if (row.state == AttemptState::kRunning && row.acked_seq < last_seq) {
      return respond({.status = make_error(absl::StatusCode::kOutOfRange, ErrorReason::kSequenceGap, "points missing"),
                      .acked = row.acked_seq});
    }
  }
  ask(std::move(event), std::move(respond));
}

// The planted defect: the stage of a lost attempt leaves the queue for good.
void ServerProcess::forget_lost(const std::vector<Mutation>& mutations) {
  bool lost = false;
  for (const Mutation& mutation : mutations) {
    const auto* end = std::get_if<EndAttempt>(&mutation);
    if (end == nullptr || end->outcome != AttemptState::kLost || end->stage_state != StageState::kQueued) continue;
    forgotten_.insert(end->stage_id);
    lost = true;
  }
  if (!lost) return;
  refuse_all({}, {});
  rebuild();
}

absl::Status ServerProcess::submit(const testing::Matrix& matrix) {
  if (!responsive()) return absl::UnavailableError("no server");
  absl::Status status = absl::UnavailableError("no answer");
  ExperimentSubmitted event = testing::submission(matrix, ledger_);
  if (mutant_ == Mutant::kForgetsAlone) {
    for (auto& [identity, draft] : event.stages) forget_alone(draft.row);
  }
  ask(std::move(event), [&status](const Answer& answer) { status = answer.status; });
  return status;
}

absl::Status ServerProcess::set_state(const std::string& experiment, ExperimentState to) {
  if (!responsive()) return absl::UnavailableError("no server");
  const auto row = ledger_.experiment(experiment);
  if (!row.ok()) return row.status();
  absl::Status status = absl::UnavailableError("no answer");
  ask(ExperimentStateRequested{0, row->id, to, search_runs(row->id)},
      [&status](const Answer& answer) { status = answer.status; });
  return status;
}

absl::Status ServerProcess::ask_and_tell(Event event) {
  absl::Status status = absl::UnavailableError("no answer");
  ask(std::move(event), [&status](const Answer& answer) { status = answer.status; });
  return status;
}

absl::Status ServerProcess::drain(const std::string& worker, Drain to, Microseconds in) {
  if (!responsive()) return absl::UnavailableError("no server");
  return ask_and_tell(WorkerDrainRequested{0, worker, to, "the person wants it", wall() + in});
}

absl::Status ServerProcess::share(const AccountRow& account) {
  if (!responsive()) return absl::UnavailableError("no server");
  return ask_and_tell(AccountChanged{0, account});
}

absl::Status ServerProcess::rerun(const std::string& experiment) {
  if (!responsive()) return absl::UnavailableError("no server");
  const auto row = ledger_.experiment(experiment);
  if (!row.ok()) return row.status();
  return ask_and_tell(testing::rerun_of(experiment, -1, ledger_));
}

absl::Status ServerProcess::erase(const std::string& experiment) {
  if (!responsive()) return absl::UnavailableError("no server");
  const auto row = ledger_.experiment(experiment);
  if (!row.ok()) return row.status();
  const absl::Status erased = ask_and_tell(ExperimentDeleted{0, *row, true, search_runs(row->id)});
  purge();
  return erased;
}

void ServerProcess::purge() {
  if (!scheduler_ || !ledger_.next_purge(1)->left) return;
  ask(PurgeDue{0, 1}, [this](const Answer&) { after(kMillisecond * 200, [this] { purge(); }); });
}

absl::Status ServerProcess::collect_garbage() {
  if (!responsive() || disk_refuses_) return absl::UnavailableError("no server");
  const std::vector<StageId> stages = ledger_.stages_to_release(0, 1000).value();
  for (const StageId id : stages) {
    const std::vector<Mutation> release = {ReleaseCheckpoints{id}};
    if (absl::Status status = ledger_.apply(release, wall()); !status.ok()) return status;
  }
  if (mutant_ == Mutant::kLosesParked) {
    for (const auto& [id, record] : ledger_.stages()) {
      const auto rows = ledger_.checkpoints(id).value();
      if (record.state == StageState::kParked && !rows.empty()) ledger_.blobs().erase(rows.back().sha256);
    }
  }
  const std::vector<ArtifactView> views = ledger_.artifacts("", 100'000).value();
  for (const ArtifactView& view : views) {
    if (view.named) continue;
    const std::vector<Mutation> collect = {CollectArtifact{view.row.sha256, wall()}};
    if (ledger_.apply(collect, wall()).ok()) ledger_.blobs().erase(view.row.sha256);
  }
  return absl::OkStatus();
}

}  // namespace locus::simulation

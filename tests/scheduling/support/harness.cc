// The scheduler's owner in miniature: see harness.h.
#include "tests/scheduling/support/harness.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/base/sha256.h"
#include "storage/memory/store.h"

namespace locus::testing {
namespace {

ReplyToken token_of(const Command& command) {
  return std::visit([](const auto& reply) { return reply.reply; }, command);
}

}  // namespace

Harness::Harness(SchedulerPolicy policy) : policy_(policy), store_(make_memory_store()) {
  scheduler_ = std::make_unique<Scheduler>(store_->load().value(), now_, policy_);
}

void Harness::step(Event event) {
  Decision decision = scheduler_->step(event, now_);
  const absl::Status applied = store_->apply(decision.mutations, now_.wall);
  ASSERT_TRUE(applied.ok()) << applied;
  for (const Command& command : decision.commands) answers_.insert_or_assign(token_of(command), command);
}

void Harness::advance(std::chrono::microseconds by) {
  const Microseconds until = now_.steady + us(by);
  while (true) {
    const auto wake = scheduler_->next_wake();
    const Microseconds to = wake ? std::max(now_.steady, *wake) : until;
    if (to >= until) break;
    now_.wall += to - now_.steady;
    now_.steady = to;
    step(Tick{});
  }
  now_.wall += until - now_.steady;
  now_.steady = until;
  step(Tick{});
}

void Harness::stop_process(std::chrono::microseconds by) {
  now_.steady += us(by);
  now_.wall += us(by);
}

void Harness::restart() {
  now_.steady = 77'000'000;
  now_.wall += 1'000'000;
  scheduler_ = std::make_unique<Scheduler>(store_->load().value(), now_, policy_);
}

const Command* Harness::answer(ReplyToken token) const {
  auto found = answers_.find(token);
  return found == answers_.end() ? nullptr : &found->second;
}

bool Harness::done(ReplyToken token) {
  const Command* command = answer(token);
  if (command == nullptr) return false;
  if (const auto* error = std::get_if<ReplyError>(command)) {
    last_error_ = error->status;
    return false;
  }
  last_error_ = absl::OkStatus();
  return true;
}

ErrorReason Harness::last_reason() const {
  const auto detail = error_detail(last_error_);
  return detail ? detail->reason : ErrorReason::kInvariantBroken;
}

bool Harness::join(const std::string& name, const std::string& session, std::vector<StatedAttempt> running,
                   std::map<std::string, int> revisions, std::vector<SlotOffer> slots) {
  return announce(ordinary(name, session, std::move(running), std::move(revisions), std::move(slots)));
}

bool Harness::join_labeled(const std::string& name, const std::string& session, WorkerLabels labels) {
  WorkerRegistered event = ordinary(name, session, {}, default_revisions(), {{"cpu", 0, 1}});
  event.labels = std::move(labels);
  return announce(std::move(event));
}

WorkerRegistered Harness::ordinary(const std::string& name, const std::string& session,
                                   std::vector<StatedAttempt> running, std::map<std::string, int> revisions,
                                   std::vector<SlotOffer> slots) {
  WorkerRegistered event;
  event.name = name;
  event.session = session;
  event.host = "host-of-" + name;
  Json announced = Json::array();
  for (const SlotOffer& slot : slots)
    announced.push_back({{"device", slot.device}, {"index", slot.index}, {"threads", slot.threads}});
  event.slots_json = announced.dump();
  event.slots = std::move(slots);
  event.revisions = std::move(revisions);
  event.running = std::move(running);
  event.gangs = true;
  return event;
}

bool Harness::announce(WorkerRegistered event) {
  event.reply = next_token_++;
  const ReplyToken token = event.reply;
  step(std::move(event));
  return done(token);
}

std::optional<Grant> Harness::ask(const std::string& session, std::vector<int> free_slots) {
  const ReplyToken token =
      ask_and_wait(session, "request-" + std::to_string(next_request_++), 0us, std::move(free_slots));
  done(token);
  return granted(token);
}

ReplyToken Harness::ask_and_wait(const std::string& session, const std::string& request_id,
                                 std::chrono::microseconds wait, std::vector<int> free_slots) {
  const ReplyToken token = next_token_++;
  step(WorkRequested{token, session, request_id, std::move(free_slots), us(wait)});
  return token;
}

std::optional<Grant> Harness::granted(ReplyToken token) const {
  const Command* command = answer(token);
  const auto* reply = command == nullptr ? nullptr : std::get_if<ReplyGrant>(command);
  return reply == nullptr ? std::nullopt : reply->grant;
}

std::optional<std::vector<LeaseWish>> Harness::sync(const std::string& session, std::vector<StatedAttempt> running) {
  const ReplyToken token = next_token_++;
  step(LeasesSynced{token, session, std::move(running)});
  if (!done(token)) return std::nullopt;
  std::vector<LeaseWish> wishes;
  for (const auto& [lease, wish] : std::get<ReplyWishes>(*answer(token)).wishes) wishes.push_back(wish);
  return wishes;
}

std::map<StageId, std::int64_t> Harness::stop_points(const std::string& session, std::vector<StatedAttempt> running) {
  const ReplyToken token = next_token_++;
  step(LeasesSynced{token, session, std::move(running)});
  return done(token) ? std::get<ReplyWishes>(*answer(token)).until : std::map<StageId, std::int64_t>{};
}

std::string Harness::artifact(const std::string& content) {
  const std::string sha = sha256_hex(content);
  const Mutation put = PutArtifact{sha, "checkpoint", "store:" + sha, 1};
  EXPECT_TRUE(store_->apply({&put, 1}, now_.wall).ok());
  return sha;
}

bool Harness::checkpoint(const std::string& session, const Grant& grant, std::int64_t step_done) {
  const ReplyToken token = next_token_++;
  const std::string sha = artifact(std::to_string(grant.stage_id) + "@" + std::to_string(step_done));
  step(CheckpointCommitted{token, session, grant.stage_id, grant.attempt, step_done, sha, false});
  return done(token);
}

bool Harness::succeed(const std::string& session, const Grant& grant) {
  AttemptCompleted event;
  event.reply = next_token_++;
  event.session = session;
  event.stage_id = grant.stage_id;
  event.attempt = grant.attempt;
  event.outcome = AttemptState::kSucceeded;
  event.outputs = {{"checkpoint", artifact("final of " + std::to_string(grant.stage_id)), 100}};
  event.results = {{{"top1", "test", "{}"}, "last", 80.0, 100}};
  const ReplyToken token = event.reply;
  step(std::move(event));
  return done(token);
}

bool Harness::fail(const std::string& session, const Grant& grant, FailureClass failure_class, std::string reason) {
  AttemptCompleted event;
  event.reply = next_token_++;
  event.session = session;
  event.stage_id = grant.stage_id;
  event.attempt = grant.attempt;
  event.outcome = AttemptState::kFailed;
  event.failure_class = failure_class;
  event.reason = std::move(reason);
  const ReplyToken token = event.reply;
  step(std::move(event));
  return done(token);
}

bool Harness::complete(const std::string& session, const Grant& grant, AttemptState outcome) {
  AttemptCompleted event;
  event.reply = next_token_++;
  event.session = session;
  event.stage_id = grant.stage_id;
  event.attempt = grant.attempt;
  event.outcome = outcome;
  const ReplyToken token = event.reply;
  step(std::move(event));
  return done(token);
}

bool Harness::park(const std::string& session, const Grant& grant, std::int64_t step_done) {
  if (!checkpoint(session, grant, step_done)) return false;
  AttemptCompleted event;
  event.reply = next_token_++;
  event.session = session;
  event.stage_id = grant.stage_id;
  event.attempt = grant.attempt;
  event.outcome = AttemptState::kParked;
  event.step = step_done;
  const ReplyToken token = event.reply;
  step(std::move(event));
  return done(token);
}

bool Harness::decide(const Matrix& matrix, const std::map<std::int64_t, std::int64_t>& wants) {
  return decide(decided(matrix, wants, *store_));
}

bool Harness::decide(SearchDecided event) {
  event.reply = next_token_++;
  const ReplyToken token = event.reply;
  step(std::move(event));
  return done(token);
}

std::optional<ReplySubmitted> Harness::submit(const Matrix& matrix) {
  ExperimentSubmitted event = submission(matrix, *store_);
  event.reply = next_token_++;
  const ReplyToken token = event.reply;
  step(std::move(event));
  if (!done(token)) return std::nullopt;
  return std::get<ReplySubmitted>(*answer(token));
}

bool Harness::set_state(const std::string& experiment, ExperimentState to) {
  const ReplyToken token = next_token_++;
  const ExperimentId id = store_->experiment(experiment).value().id;
  step(ExperimentStateRequested{token, id, to, search_runs(id)});
  return done(token);
}

bool Harness::search_runs(ExperimentId id) {
  const auto search = store_->search(id);
  return search.ok() && search->state == SearchState::kRunning;
}

bool Harness::drain(const std::string& worker, Drain to, const std::string& reason, Microseconds from) {
  const ReplyToken token = next_token_++;
  step(WorkerDrainRequested{token, worker, to, reason, from});
  return done(token);
}

std::optional<ReplySubmitted> Harness::rerun(const std::string& experiment, std::int64_t trial) {
  StagesRerun event = rerun_of(experiment, trial, *store_);
  event.reply = next_token_++;
  const ReplyToken token = event.reply;
  step(std::move(event));
  if (!done(token)) return std::nullopt;
  return std::get<ReplySubmitted>(*answer(token));
}

bool Harness::erase(const std::string& experiment, bool force) {
  const ReplyToken token = next_token_++;
  const ExperimentRow row = store_->experiment(experiment).value();
  step(ExperimentDeleted{token, row, force, search_runs(row.id)});
  return done(token);
}

bool Harness::forget(const std::string& worker) {
  const ReplyToken token = next_token_++;
  step(WorkerForgetRequested{token, worker});
  return done(token);
}

bool Harness::share(AccountRow row) {
  const ReplyToken token = next_token_++;
  step(AccountChanged{token, std::move(row)});
  return done(token);
}

bool Harness::unshare(const std::string& account) {
  const ReplyToken token = next_token_++;
  step(AccountChanged{token, AccountRow{.name = account}, true});
  return done(token);
}

void Harness::purge() {
  while (store_->next_purge(1)->left) step(PurgeDue{next_token_++, 1});
}

WorkerRow Harness::worker(const std::string& name) {
  const std::vector<WorkerRow> rows = store_->workers().value();
  for (const WorkerRow& row : rows) {
    if (row.name == name) return row;
  }
  return {};
}

StageRow Harness::stage(const std::string& identity) {
  const std::vector<std::string> identities = {identity};
  const auto found = store_->stages_by_identity(identities).value();
  return found.empty() ? StageRow{} : found.begin()->second;
}

std::vector<EventRow> Harness::events(const std::string& kind) {
  std::vector<EventRow> matching;
  std::vector<EventRow> all = store_->events(0, 1000).value();
  for (EventRow& event : all) {
    if (event.kind == kind) matching.push_back(std::move(event));
  }
  return matching;
}

std::map<std::string, int> Harness::default_revisions() {
  std::map<std::string, int> revisions{{"stage/train", 1}, {"stage/evaluate", 1}, {"stage/measure", 1}};
  for (const char* cell : {"none", "a", "b", "c"}) revisions[std::string("prior/") + cell] = 1;
  return revisions;
}

StatedAttempt stated(const Grant& grant, std::int64_t step, std::int64_t steps) {
  return {grant.stage_id, grant.attempt, step, steps, "train"};
}

}  // namespace locus::testing

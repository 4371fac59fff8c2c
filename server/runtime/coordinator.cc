// The scheduler's strand.
#include "server/runtime/coordinator.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

constexpr std::size_t kBatch = 64;                                           // events that share one transaction
constexpr std::chrono::microseconds kReloadEvery = std::chrono::seconds(1);  // while the store does not answer

absl::Status draining_error() {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerDraining,
                    "the server is stopping; ask again shortly");
}

ReplyToken token_of(const Event& event) {
  return std::visit(
      [](const auto& e) -> ReplyToken {
        if constexpr (requires { e.reply; }) return e.reply;
        return 0;
      },
      event);
}

ReplyToken token_of(const Command& command) {
  return std::visit([](const auto& c) { return c.reply; }, command);
}

void append(Decision& all, Decision one) {
  std::move(one.mutations.begin(), one.mutations.end(), std::back_inserter(all.mutations));
  std::move(one.commands.begin(), one.commands.end(), std::back_inserter(all.commands));
}

}  // namespace

// What the one thread runs.
struct Coordinator::Strand {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::steady_timer timer{io};
};

Coordinator::Coordinator(Store& store, Clock& clock, Notice notice)
    : store_(store), clock_(clock), notice_(std::move(notice)), strand_(std::make_unique<Strand>()) {}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::start(Store& store, Clock& clock, Notice notice) {
  std::unique_ptr<Coordinator> self(new Coordinator(store, clock, std::move(notice)));
  LOCUS_RETURN_IF_ERROR(self->rebuild({}));
  self->arm();
  self->thread_ = std::thread([raw = self.get()] { raw->strand_->io.run(); });
  return self;
}

Coordinator::~Coordinator() { stop(); }

void Coordinator::stop() {
  if (stopped_.exchange(true)) return;
  if (!thread_.joinable()) return;
  boost::asio::post(strand_->io, [this] {
    pump();
    while (!replies_.empty()) answer(replies_.begin()->first, ReplyError{0, draining_error()});
    strand_->timer.cancel();
    strand_->work.reset();
  });
  thread_.join();
}

void Coordinator::on_strand(std::function<void()> task) {
  if (stopped_) return task();  // the thread has ended or is about to: nobody else touches the state any more
  boost::asio::post(strand_->io, std::move(task));
}

void Coordinator::enqueue(Pending pending) {
  if (stopped_) return pending.reply(ReplyError{pending.token, draining_error()});
  boost::asio::post(strand_->io, [this, pending = std::move(pending)]() mutable {
    queue_.push_back(std::move(pending));
    if (std::exchange(pump_posted_, true)) return;
    boost::asio::post(strand_->io,
                      [this] { pump(); });  // after the handlers already queued, so that they share a transaction
  });
}

ReplyToken Coordinator::post_prepared(std::function<absl::StatusOr<Event>(ReplyToken)> prepare, Reply reply,
                                      std::optional<AppendAudit> record) {
  const ReplyToken token = ++last_token_;
  enqueue(
      {[prepare = std::move(prepare), token] { return prepare(token); }, token, std::move(reply), std::move(record)});
  return token;
}

void Coordinator::drop(ReplyToken token) {
  on_strand([this, token] {
    if (pump_posted_) pump();  // the request itself may still wait there
    if (replies_.count(token) == 0) return;
    answer(token, ReplyError{token, absl::CancelledError("the caller has gone")});
    process({WorkRequestDropped{token}}, true);
  });
}

void Coordinator::note(StageId stage, const char* kind) {
  on_strand([this, stage, kind] {
    for (const auto& name : index_.experiments_of(stage)) notice_(name, kind);
  });
}

void Coordinator::post_unanswered(Event event) {
  on_strand([this, event = std::move(event)] {
    process({event}, true);
    arm();
  });
}

void Coordinator::drain() {
  on_strand([this] {
    draining_ = true;
    std::vector<ReplyToken> waiting;
    for (const auto& [token, reply] : replies_) waiting.push_back(token);
    for (ReplyToken token : waiting) {
      answer(token, ReplyGrant{token, std::nullopt});
      process({WorkRequestDropped{token}}, true);
    }
  });
}

Now Coordinator::observe_now() {
  now_ = {clock_.steady(), clock_.wall()};
  return now_;
}

void Coordinator::pump() {
  pump_posted_ = false;
  while (!queue_.empty()) {
    std::vector<Event> events;
    while (!queue_.empty() && events.size() < kBatch) {
      Pending pending = std::move(queue_.front());
      queue_.pop_front();
      auto event = pending.make();
      if (event.ok() && draining_ && std::holds_alternative<WorkRequested>(*event)) event = draining_error();
      if (!event.ok()) {
        pending.reply(ReplyError{pending.token, event.status()});
        continue;
      }
      replies_[pending.token] = std::move(pending.reply);
      if (pending.record) records_[pending.token] = *std::move(pending.record);
      events.push_back(*std::move(event));
      if (std::holds_alternative<ExperimentSubmitted>(events.back()) ||
          std::holds_alternative<StagesRerun>(events.back()) || std::holds_alternative<SearchDecided>(events.back()))
        break;  // its draft holds only for the state it was made from
    }
    // One that the store refuses must not take the others with it: they are tried again one by one.
    if (!process(events, events.size() <= 1)) {
      for (auto& event : events) process({std::move(event)}, true);
    }
  }
  arm();
}

bool Coordinator::process(const std::vector<Event>& events, bool last_chance) {
  if (events.empty()) return true;
  if (stale_) {
    if (const absl::Status status = rebuild(events); !status.ok()) return fail(events, {}, status), true;
  }
  const Now now = observe_now();
  for (const Event& event : events) {
    if (const auto* intake = std::get_if<IntakeChanged>(&event)) intake_closed_because_ = intake->closed_because;
  }
  Decision all;
  for (const Event& event : events) {
    Decision one = scheduler_->step(event, now);
    add_record(event, &one);
    append(all, std::move(one));
  }
  if (!all.mutations.empty()) {
    const absl::Status status = store_.apply(all.mutations, now.wall);
    if (!status.ok()) {
      stale_ = true;
      if (!last_chance) return rebuild(events).ok() ? false : (fail(events, all, status), true);
      fail(events, all, status);
      if (const absl::Status rebuilt = rebuild({}); !rebuilt.ok()) log_error("rebuild: {}", rebuilt.ToString());
      return true;
    }
  }
  for (const Event& event : events) {  // before what is saved, which may retire trials
    if (const auto* submitted = std::get_if<ExperimentSubmitted>(&event)) index_.apply(*submitted);
    if (const auto* rerun = std::get_if<StagesRerun>(&event)) index_.apply(*rerun);
    if (const auto* decided = std::get_if<SearchDecided>(&event)) index_.apply(*decided);
  }
  for (const Mutation& mutation : all.mutations) {
    if (const auto* saved = std::get_if<SaveExperiment>(&mutation)) index_.apply(*saved);
    if (const auto* resolved = std::get_if<ResolveTrials>(&mutation)) index_.apply(*resolved);
    if (const auto* deleted = std::get_if<DeleteExperiment>(&mutation)) index_.forget(deleted->id);
  }
  note_decisions(all.mutations);
  if (moved_) note_movement(all.mutations);
  for (const Event& event : events) note_progress(event);
  commit_answers(all);
  return true;
}

// What the scheduler refuses has changed nothing; whoever asked records that.
void Coordinator::add_record(const Event& event, Decision* decision) const {
  const ReplyToken token = token_of(event);
  const auto record = records_.find(token);
  if (token == 0 || record == records_.end()) return;
  const bool refused = std::any_of(decision->commands.begin(), decision->commands.end(), [&](const Command& command) {
    return token_of(command) == token && std::holds_alternative<ReplyError>(command);
  });
  if (!refused) decision->mutations.emplace_back(record->second);
}

void Coordinator::commit_answers(const Decision& decision) {
  for (const Command& command : decision.commands) answer(token_of(command), command);
}

void Coordinator::fail(const std::vector<Event>& events, const Decision& decision, const absl::Status& status) {
  log_warning("a change was refused: {}", std::string(status.message()));
  for (const Command& command : decision.commands) {
    const ReplyToken token = token_of(command);
    answer(token, std::holds_alternative<ReplyError>(command) ? command : Command(ReplyError{token, status}));
  }
  for (const Event& event : events) {
    if (const ReplyToken token = token_of(event)) answer(token, ReplyError{token, status});
  }
}

void Coordinator::answer(ReplyToken token, Command command) {
  const auto found = replies_.find(token);
  if (found == replies_.end()) return;
  Reply reply = std::move(found->second);
  replies_.erase(found);
  records_.erase(token);
  reply(std::move(command));
}

// Callers that wait for work are told to ask again; those of `to_retry` keep waiting for their second try.
absl::Status Coordinator::rebuild(const std::vector<Event>& to_retry) {
  stale_ = true;
  LOCUS_ASSIGN_OR_RETURN(Snapshot snapshot, store_.load());
  scheduler_.emplace(snapshot, observe_now());
  if (!intake_closed_because_.empty()) scheduler_->step(IntakeChanged{intake_closed_because_}, now_);
  index_.load(snapshot);
  stale_ = false;
  std::vector<ReplyToken> forgotten;
  for (const auto& [token, reply] : replies_) {
    const bool kept =
        std::any_of(to_retry.begin(), to_retry.end(), [t = token](const Event& e) { return token_of(e) == t; });
    if (!kept) forgotten.push_back(token);
  }
  const absl::Status again = make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerUnavailable,
                                        "the scheduler was reloaded from the store; retry");
  for (ReplyToken token : forgotten) answer(token, ReplyError{token, again});
  return absl::OkStatus();
}

void Coordinator::note_progress(const Event& event) {
  const auto* synced = std::get_if<LeasesSynced>(&event);
  if (synced == nullptr) return;
  for (const StatedAttempt& stated : synced->running) {
    if (std::exchange(steps_seen_[stated.stage_id], stated.step) == stated.step) continue;
    for (const auto& name : index_.experiments_of(stated.stage_id)) notice_(name, "progress");
  }
  if (steps_seen_.size() > 100'000) steps_seen_.clear();
}

void Coordinator::note_decisions(const std::vector<Mutation>& mutations) {
  const std::lock_guard lock(decisions_mutex_);
  for (const Mutation& mutation : mutations) {
    if (const auto* appended = std::get_if<AppendDecisions>(&mutation)) {
      for (const DecisionRow& row : appended->rows) ++decisions_[row.kind];
    }
  }
}

std::map<std::string, std::int64_t> Coordinator::decisions() const {
  const std::lock_guard lock(decisions_mutex_);
  return decisions_;
}

void Coordinator::note_movement(const std::vector<Mutation>& mutations) {
  std::map<ExperimentId, std::set<std::int64_t>> moved;
  std::set<ExperimentId> changed;
  const auto of_stage = [&](StageId stage) {
    for (const TrialReference& reference : index_.references(stage))
      moved[reference.experiment].insert(reference.trial);
  };
  for (const Mutation& mutation : mutations) {
    if (const auto* ended = std::get_if<EndAttempt>(&mutation)) of_stage(ended->stage_id);
    if (const auto* set = std::get_if<SetStageState>(&mutation); set != nullptr && terminal(set->to))
      of_stage(set->stage_id);
    if (const auto* saved = std::get_if<SaveExperiment>(&mutation)) changed.insert(saved->row.id);
    if (const auto* state = std::get_if<SetExperimentState>(&mutation)) changed.insert(state->id);
  }
  for (const ExperimentId id : changed) {
    moved_(id, nullptr);
    moved.erase(id);
  }
  for (const auto& [id, trials] : moved) moved_(id, &trials);
}

void Coordinator::on_movement(Movement callback) {
  std::promise<void> taken;
  on_strand([&] {
    moved_ = std::move(callback);
    taken.set_value();
  });
  taken.get_future().wait();
}

void Coordinator::arm() {
  if (stopped_) return;
  std::chrono::microseconds delay = kReloadEvery;
  if (!stale_) {
    const auto wake = scheduler_->next_wake();
    if (!wake) return void(strand_->timer.cancel());
    delay = std::chrono::microseconds(std::max<Microseconds>(0, *wake - clock_.steady()));
  }
  strand_->timer.expires_after(delay);
  strand_->timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    process({Tick{}}, true);
    arm();
  });
}

}  // namespace locus::server

// Workers that are given no more work or are forgotten, and a server that gives none.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/state.h"

namespace locus {

void Scheduler::State::set_drain(Worker& worker, Drain to, const std::string& reason, Microseconds from) {
  const std::string kept = to == Drain::kNone ? "" : reason;
  const Microseconds later = to == Drain::kNone || from <= now_.wall ? 0 : from;
  if (worker.row.drain == to && worker.row.reason == kept && worker.row.drain_from_us == later) return;
  worker.row.drain = to;
  worker.row.reason = kept;
  worker.row.drain_from_us = later;
  note_later_drain(worker.row);
  fruitless_until_ = 0;  // slots may be kept elsewhere
  if (worker.row.state != WorkerState::kOffline)
    worker.row.state = worker.row.drained() ? WorkerState::kDraining : WorkerState::kActive;
  if (to == Drain::kNone) worker.failed_in_row.clear();
  mutate(PutWorker{worker.row});
  announce_worker(worker, "worker-state");
}

void Scheduler::State::handle(const WorkerDrainRequested& event) {
  const auto found = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const auto& entry) { return entry.second.row.name == event.name; });
  if (found == workers_.end()) return refuse_unknown_worker(event.reply, event.name);
  set_drain(found->second, event.to, event.reason, event.from);
  reply(ReplyDone{event.reply});
}

void Scheduler::State::note_later_drain(const WorkerRow& row) {
  if (row.drains_later())
    later_drains_.insert(row.id);
  else
    later_drains_.erase(row.id);
}

void Scheduler::State::begin_drains() {
  if (now_.steady < turned_to_store_ + policy_.heartbeat) return;
  const std::set<WorkerId> later = later_drains_;
  for (const WorkerId id : later) {
    Worker& worker = workers_.at(id);
    if (worker.row.drain_from_us <= now_.wall) set_drain(worker, worker.row.drain, worker.row.reason, 0);
  }
}

Microseconds Scheduler::State::next_drain() const {
  Microseconds next = kNever;
  for (const WorkerId id : later_drains_)
    next = std::min(next, now_.steady + workers_.at(id).row.drain_from_us - now_.wall);
  return std::max(next, turned_to_store_ + policy_.heartbeat);
}

void Scheduler::State::handle(const WorkerForgetRequested& event) {
  const auto found = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const auto& entry) { return entry.second.row.name == event.name; });
  if (found == workers_.end()) return refuse_unknown_worker(event.reply, event.name);
  Worker& worker = found->second;
  if (worker.row.state != WorkerState::kOffline) {
    return reply(
        ReplyError{event.reply, make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                                           "worker " + event.name + " is " + to_string(worker.row.state) +
                                               ", and only one that is offline can be forgotten; stop it first",
                                           "name", {{"name", event.name}})});
  }
  if (!worker.row.forgotten) {
    worker.row.forgotten = true;
    mutate(PutWorker{worker.row});
    announce_worker(worker, "worker-state");
  }
  reply(ReplyDone{event.reply});
}

void Scheduler::State::refuse_unknown_worker(ReplyToken token, const std::string& name) {
  absl::Status status =
      make_error(absl::StatusCode::kNotFound, ErrorReason::kWorkerNotFound,
                 "no worker named \"" + name + "\" has ever registered; list the workers", "name", {{"name", name}});
  reply(ReplyError{token, std::move(status)});
}

void Scheduler::State::handle(const IntakeChanged& event) { intake_closed_ = event.closed_because; }

}  // namespace locus

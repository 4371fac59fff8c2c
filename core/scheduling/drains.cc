// Workers that are given no more work or are forgotten, and a server that gives none.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/state.h"

namespace locus {

void Scheduler::State::set_drain(Worker& worker, Drain to, const std::string& reason) {
  const std::string kept = to == Drain::kNone ? "" : reason;
  if (worker.row.drain == to && worker.row.reason == kept) return;
  worker.row.drain = to;
  worker.row.reason = kept;
  if (worker.row.state != WorkerState::kOffline)
    worker.row.state = to == Drain::kNone ? WorkerState::kActive : WorkerState::kDraining;
  if (to == Drain::kNone) worker.failed_in_row.clear();
  mutate(PutWorker{worker.row});
  announce_worker(worker, "worker-state");
}

void Scheduler::State::handle(const WorkerDrainRequested& event) {
  const auto found = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const auto& entry) { return entry.second.row.name == event.name; });
  if (found == workers_.end()) return refuse_unknown_worker(event.reply, event.name);
  set_drain(found->second, event.to, event.reason);
  reply(ReplyDone{event.reply});
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

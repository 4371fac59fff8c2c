// Workers: registration, heartbeats, silence, and what each of them means for the attempts they run.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/state.h"

namespace locus {
namespace {

constexpr std::size_t kSupersededRemembered = 16;

absl::Status unknown_session() {
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kWorkerNotFound,
                    "the server does not know this worker session; register again with the attempts it holds");
}

bool same_announcement(const WorkerRow& a, const WorkerRow& b) {
  return a.name == b.name && a.session == b.session && a.host == b.host && a.version == b.version &&
         a.slots_json == b.slots_json && a.catalog_digest == b.catalog_digest && a.state == b.state &&
         a.instance == b.instance && a.data_json == b.data_json && a.labels_json == b.labels_json &&
         a.forgotten == b.forgotten;
}

std::string_view folder_of(std::string_view instance) { return instance.substr(0, instance.find('@')); }

}  // namespace

Scheduler::State::Worker* Scheduler::State::connected_worker(const std::string& session, ReplyToken token) {
  auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    reply(ReplyError{token, unknown_session()});
    return nullptr;
  }
  Worker& worker = workers_.at(found->second);
  if (now_.steady - worker.heard > policy_.lease) fruitless_until_ = 0;  // slots may be kept there again
  worker.heard = now_.steady;
  return &worker;
}

Scheduler::State::Stage* Scheduler::State::run_by(const Worker& worker, StageId id, std::int64_t attempt) {
  Stage* stage = find_stage(id);
  if (stage == nullptr || !stage->running || stage->row.attempt != attempt) return nullptr;
  return stage->running->worker == worker.row.id ? stage : nullptr;
}

Scheduler::State::Worker& Scheduler::State::worker_named(const std::string& name) {
  const auto [known, fresh] = worker_names_.try_emplace(name, next_worker_);
  Worker& worker = workers_[known->second];
  if (!fresh) return worker;
  worker.row.id = next_worker_++;
  worker.row.name = name;
  return worker;
}

bool Scheduler::State::refuse_superseded(const Worker& worker, const WorkerRegistered& event) {
  if (std::count(worker.superseded.begin(), worker.superseded.end(), event.session) == 0) return false;
  reply(ReplyError{event.reply, make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                                           "a newer daemon registered under the name " + event.name +
                                               "; stop one of them, or give this one another --name",
                                           "name", {{"name", event.name}})});
  return true;
}

bool Scheduler::State::refuse_taken(const Worker& worker, const WorkerRegistered& event) {
  const WorkerRow& holder = worker.row;
  const Microseconds silent = now_.steady - worker.heard;
  const bool lives = holder.state != WorkerState::kOffline && silent <= policy_.lease;
  const bool may_live_beside = !holder.session.empty() && holder.session != event.session && !holder.instance.empty() &&
                               holder.instance != event.instance;
  if (!lives || !may_live_beside || event.take_over) return false;
  std::string since;
  if (holder.since_us > 0) since = ", registered " + duration_text(now_.wall - holder.since_us) + " ago";
  std::map<std::string, std::string> metadata{{"name", event.name},
                                              {"host", holder.host},
                                              {"since_us", std::to_string(holder.since_us)},
                                              {"silent_us", std::to_string(silent)}};
  // A machine that starts anew keeps its folder, and so does a copy of it: only the holder's silence tells.
  if (folder_of(holder.instance) == folder_of(event.instance)) metadata["same_folder"] = "true";
  reply(ReplyError{event.reply,
                   make_error(absl::StatusCode::kAlreadyExists, ErrorReason::kWorkerNameTaken,
                              "another daemon lives under the name " + event.name + ": on host " + holder.host + since +
                                  ", last heard " + duration_text(silent) +
                                  " ago; give this one another --name, stop that one, or take over its name, which "
                                  "ends what it runs, with --take-over",
                              "name", std::move(metadata))});
  return true;
}

void Scheduler::State::handle(const WorkerRegistered& event) {
  if (event.name.empty() || event.session.empty()) {
    reply(ReplyError{event.reply, make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                                             "a worker registers with a name and a session; one of them is empty",
                                             event.name.empty() ? "name" : "session")});
    return;
  }
  Worker& worker = worker_named(event.name);
  if (refuse_superseded(worker, event) || refuse_taken(worker, event)) return;
  if (worker.row.session != event.session) replace_session(worker, event);
  worker.connected = true;
  worker.heard = now_.steady;
  take_offer(worker, event);
  sessions_[event.session] = worker.row.id;
  announce(worker, event);
  renew(worker, event.running);
  lose_unlisted(worker);
  expect_silence(worker);
  reply(ReplyDone{event.reply});
}

// A dataset the worker knows but does not hold is none it offers; a copy that it holds is one, "photos@<sha256>".
void Scheduler::State::take_offer(Worker& worker, const WorkerRegistered& event) {
  worker.suits.clear();
  worker.revisions = event.revisions;
  if (event.datasets) {
    std::erase_if(worker.revisions, [&](const auto& item) {
      return item.first.starts_with(kDatasetItem) && !event.datasets->contains(item.first.substr(kDatasetItem.size()));
    });
    for (const std::string& held : *event.datasets) {
      if (held.find(kCopyMark) != std::string::npos)
        worker.revisions.emplace(std::string(kDatasetItem) + held, kCopyRevision);
    }
  }
  worker.ends_at.reset();
  if (event.time_left) worker.ends_at = now_.steady + *event.time_left;
  worker.lifetime = event.lifetime;
  worker.slots = event.slots.size();
  take_slots(worker, event.slots);
  worker.labels = event.labels.effective();
  worker.gangs = event.gangs;
  worker.apart = event.apart;
}

// A daemon started anew: whatever its predecessor ran and it does not hold died with the predecessor.
void Scheduler::State::replace_session(Worker& worker, const WorkerRegistered& event) {
  if (!worker.row.session.empty()) {
    worker.superseded.push_back(worker.row.session);
    if (worker.superseded.size() > kSupersededRemembered) worker.superseded.pop_front();
  }
  disconnect(worker, unknown_session());
  worker.asked.clear();
  const std::set<StageId> running = worker.running;
  for (StageId id : running) {
    Stage& stage = stages_.at(id);
    const bool runs = std::any_of(event.running.begin(), event.running.end(), [&](const StatedAttempt& lease) {
      return lease.stage_id == id && lease.attempt == stage.row.attempt;
    });
    if (!runs)
      lose(stage, "the worker daemon " + event.name + " was restarted", /*strike=*/true,
           /*uncounted=*/false);
  }
}

void Scheduler::State::announce(Worker& worker, const WorkerRegistered& event) {
  WorkerRow row = worker.row;
  row.session = event.session;
  row.host = event.host;
  row.version = event.version;
  row.slots_json = event.slots_json;
  row.catalog_digest = event.catalog_digest;
  row.instance = event.instance;
  row.data_json = event.data_json;
  row.labels_json = labels_text(event.labels);
  row.forgotten = false;
  if (worker.row.session != event.session) row.since_us = now_.wall;
  row.state = row.drained() ? WorkerState::kDraining : WorkerState::kActive;
  row.seen_us = now_.wall;
  const bool changed = !same_announcement(row, worker.row);
  worker.row = std::move(row);
  // Registering again after a server restart changes nothing and writes nothing, so it works while the disk
  // is full.
  if (!changed) return;
  mutate(PutWorker{worker.row});
  announce_worker(worker, "worker-registered");
}

void Scheduler::State::renew(Worker& worker, const std::vector<StatedAttempt>& stated) {
  for (const StatedAttempt& lease : stated) {
    Stage* stage = run_by(worker, lease.stage_id, lease.attempt);
    if (stage == nullptr) continue;
    stage->running->listed = now_.steady;
    stage->running->acknowledged = true;
    Running& running = *stage->running;
    if (running.first_at == 0 && lease.steps > 0 && lease.step > 0) {
      running.first_at = now_.steady;
      running.first_step = lease.step;
    }
    running.progress = lease;
  }
}

// An attempt its own worker does not state for a whole lease: the grant never arrived, or the worker gave it
// up.
void Scheduler::State::lose_unlisted(Worker& worker) {
  const std::set<StageId> running = worker.running;
  for (StageId id : running) {
    Stage& stage = stages_.at(id);
    if (now_.steady - stage.running->listed <= policy_.lease) continue;
    const bool acknowledged = stage.running->acknowledged;
    lose(stage, "the worker " + worker.row.name + (acknowledged ? " gave it up" : " never received the grant"),
         /*strike=*/false, /*uncounted=*/!acknowledged);
  }
}

void Scheduler::State::handle(const LeasesSynced& event) {
  Worker* worker = connected_worker(event.session, event.reply);
  if (worker == nullptr) return;
  renew(*worker, event.running);
  lose_unlisted(*worker);
  const bool stops = worker->row.drained() && worker->row.drain == Drain::kStopWork;
  ReplyWishes wishes{.reply = event.reply, .wishes = {}, .drain = worker->row.state == WorkerState::kDraining};
  for (const StatedAttempt& lease : event.running) {
    LeaseWish wish = stops ? LeaseWish::kCheckpointAndStop : LeaseWish::kContinue;
    if (const Stage* stage = run_by(*worker, lease.stage_id, lease.attempt)) {
      const std::int64_t until = stop_point(stage->references);
      if (until != kToTheEnd) wishes.until[lease.stage_id] = until;
      if (stage->running->halt) wish = LeaseWish::kCheckpointAndStop;
    } else {
      auto ended = ended_.find({lease.stage_id, lease.attempt});
      wish = ended != ended_.end() && ended->second == AttemptState::kCancelled ? LeaseWish::kCancel : LeaseWish::kDrop;
    }
    wishes.wishes.emplace_back(lease, wish);
  }
  reply(std::move(wishes));
}

void Scheduler::State::disconnect(Worker& worker, const absl::Status& why) {
  fruitless_until_ = 0;
  worker.connected = false;
  sessions_.erase(worker.row.session);
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.worker != worker.row.id) return false;
    reply(ReplyError{waiting.reply, why});
    return true;
  });
}

std::optional<Microseconds> Scheduler::State::silence_deadline(const Worker& worker) const {
  // One that runs something may be training through a partition; one that does not is merely gone.
  if (!worker.running.empty()) return worker.heard + policy_.grace;
  if (worker.row.state != WorkerState::kOffline) return worker.heard + policy_.lease;
  return std::nullopt;
}

// Whenever its deadline may have become an earlier one, or none: it does not while it is only heard.
void Scheduler::State::expect_silence(const Worker& worker) {
  silent_at_ = std::min(silent_at_, silence_deadline(worker).value_or(0));
}

Microseconds Scheduler::State::first_silence() const {
  Microseconds first = kNever;
  for (const auto& [id, worker] : workers_) {
    if (const auto deadline = silence_deadline(worker)) first = std::min(first, *deadline);
  }
  return first;
}

void Scheduler::State::lose_silent_workers() {
  if (now_.steady < silent_at_) return;
  for (auto& [id, worker] : workers_) {
    const std::optional<Microseconds> deadline = silence_deadline(worker);
    if (!deadline || now_.steady < *deadline) continue;
    const std::set<StageId> running = worker.running;
    for (StageId stage : running) {
      lose(stages_.at(stage), "the worker " + worker.row.name + " fell silent", /*strike=*/true,
           /*uncounted=*/false);
    }
    // One that this process never heard was last seen when the stored row says.
    if (worker.connected) worker.row.seen_us = now_.wall - (now_.steady - worker.heard);
    disconnect(worker, unknown_session());
    worker.row.state = WorkerState::kOffline;
    mutate(PutWorker{worker.row});
    announce_worker(worker, "worker-state");
  }
  silent_at_ = first_silence();
}

// While workers are known this is stepped every heartbeat at least. A longer gap means that this process
// itself was stopped, and heartbeats may be waiting in its sockets: the gap is nobody's silence, and everyone
// gets a full lease to be heard again.
void Scheduler::State::forgive_own_pause(Now now) {
  const Microseconds gap = now.steady - last_step_;
  if (gap <= 2 * policy_.heartbeat) return;
  fruitless_until_ = 0;
  for (auto& [id, worker] : workers_) {
    const Microseconds allowed = worker.running.empty() ? policy_.lease : policy_.grace;
    worker.heard = std::min(now.steady, std::max(worker.heard + gap, now.steady - allowed + policy_.lease));
    for (StageId stage : worker.running) {
      Microseconds& listed = stages_.at(stage).running->listed;
      listed = std::min(now.steady, listed + gap);
    }
  }
}

}  // namespace locus

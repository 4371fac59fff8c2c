// The slot's thread.
#include "worker/app/slot.h"

#include <poll.h>
#include <signal.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/trainer_protocol.h"
#include "core/experiment/memory_load.h"
#include "core/log/log.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;

constexpr auto kShutdownWait = 2s;  // of an idle trainer

// The digest of the weights that a training begins with, which may be an artifact; the trainer looks for them beside the
// data where they are none. Empty: it begins with none. Who goes on may need them, too: checkpoints leave out what does not learn.
std::string first_weights(const v1::StageGrant& grant) {
  const Json configuration = Json::parse(grant.config_json(), nullptr, /*allow_exceptions=*/false);
  if (!configuration.is_object() || configuration.value("kind", "") != "train") return "";
  return configuration.value("/init/options/sha256"_json_pointer, "");
}

// The slots that an attempt has been granted beside the one that runs it.
std::vector<int> other_slots(const Attempt& attempt) {
  const auto& all = attempt.grant().slots();
  return all.empty() ? std::vector<int>() : std::vector<int>(all.begin() + 1, all.end());
}

// Trainers that exchange tensors need sockets of the network, and Gloo looks up where on the buses its interface is.
TrainerSetup with_sockets(TrainerSetup setup) {
  if (!setup.isolation) return setup;
  setup.isolation = [rules_of = std::move(setup.isolation)] {
    IsolationRules rules = rules_of();
    rules.sockets = ChildSockets::kNetwork;
    for (const char* path : {"/sys/bus/pci", "/sys/class/net", "/sys/devices"}) rules.read.emplace_back(path);
    return rules;
  };
  return setup;
}

}  // namespace

Slot::Slot(SlotSetup setup, Link& link, Packing& packing, LoadMemory& loads,
           std::function<void(const absl::Status&)> unusable)
    : setup_(std::move(setup)), link_(link), packing_(packing), loads_(loads), unusable_(std::move(unusable)) {}

Slot::~Slot() {
  drain(1);
  join();
}

void Slot::start() {
  thread_ = std::thread([this] { run(); });
}

void Slot::assign(std::shared_ptr<Attempt> attempt) {
  std::unique_lock lock(mutex_);
  if (draining_) {  // granted just as the drain began; the thread may have ended
    lock.unlock();
    finish_stopped(*attempt);
    return;
  }
  attempt_ = std::move(attempt);
  wishes_ = {};
  wishes_.until_step = link_.until_step(*attempt_);  // may have moved since the grant
  changed_.notify_all();
}

void Slot::stop_attempt(LeaseBook::Key key) {
  std::unique_lock lock(mutex_);
  if (!attempt_ || attempt_->key() != key) return;
  wishes_.stop = true;
  wakeup_.wake();
  lock.unlock();
  packing_.look_again();
}

void Slot::discard_attempt(LeaseBook::Key key) {
  std::unique_lock lock(mutex_);
  if (!attempt_ || attempt_->key() != key) return;
  wishes_.discard = true;
  wakeup_.wake();
  lock.unlock();
  packing_.look_again();
}

void Slot::move_stop_point(LeaseBook::Key key, std::int64_t until_step) {
  std::lock_guard lock(mutex_);
  if (!attempt_ || attempt_->key() != key) return;
  wishes_.until_step = until_step;
  wakeup_.wake();
}

void Slot::drain(Microseconds kill_at) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  wishes_.stop = true;
  wishes_.kill_at = kill_at;
  changed_.notify_all();
  wakeup_.wake();
  lock.unlock();
  packing_.look_again();
}

void Slot::join() {
  if (thread_.joinable()) thread_.join();
}

bool Slot::busy() {
  std::lock_guard lock(mutex_);
  return attempt_ != nullptr;
}

std::optional<std::pair<LeaseBook::Key, pid_t>> Slot::at_work() {
  std::lock_guard lock(mutex_);
  if (!attempt_ || trainer_pid_ == 0) return std::nullopt;
  return std::pair(attempt_->key(), trainer_pid_);
}

RunWishes Slot::wishes() {
  std::lock_guard lock(mutex_);
  return wishes_;
}

void Slot::note_trainer(pid_t pid) {
  std::lock_guard lock(mutex_);
  trainer_pid_ = pid;
}

void Slot::run() {
  while (true) {
    std::shared_ptr<Attempt> attempt;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return draining_ || attempt_; });
      if (!attempt_) break;
      attempt = attempt_;
    }
    run_attempt(attempt);
    std::unique_lock lock(mutex_);
    attempt_.reset();
    const bool rests = packing_.withdrawn(setup_.index);
    packing_.ended(setup_.index);
    std::vector<int> free = other_slots(*attempt);
    for (const int slot : free) packing_.ended(slot);
    if (draining_) break;
    if (!rests) free.push_back(setup_.index);
    if (!free.empty()) link_.offer(free);
    lock.unlock();
    if (rests) retire_trainer();  // what it keeps of the GPU's memory is for the others
  }
  retire_trainer();
}

void Slot::finish_stopped(Attempt& attempt) {
  v1::CompleteAttemptRequest outcome;
  outcome.set_outcome("stopped");
  outcome.set_reason("the worker was stopping before training began");
  link_.finish(attempt, std::move(outcome));
}

bool Slot::overdue() {
  const RunWishes now = wishes();
  return now.kill_at > 0 && system_clock().steady() >= now.kill_at;
}

void Slot::run_attempt(const std::shared_ptr<Attempt>& attempt) {
  const auto& grant = attempt->grant();
  log_info("attempt {} begins on {} {}: {}{}", attempt->name(), setup_.execution.device, setup_.index, grant.title(),
           grant.resume_sha256().empty() ? "" : ", from step " + std::to_string(grant.resume_step()));
  std::vector<ArtifactCache::Pin> pins;  // the trainer reads these files
  const auto start = prepare(*attempt, pins);
  absl::Status status = start.status();
  // A stage that runs alone has a process of its own, too: what ran in it before would tell in its figures.
  const std::vector<int> others = other_slots(*attempt);
  const bool alone = !others.empty() || (status.ok() && start->at("stage").value("exclusive", false));
  const std::string load = status.ok() ? memory_load_of(start->at("stage")) : "";
  if (status.ok() && !grant.memory_given()) loads_.hear(load, grant.memory_bytes());
  if (!begin_in_turn(*attempt, load)) return attempt->discarded() ? void() : finish_stopped(*attempt);
  for (const int slot : others) packing_.begun(slot, needed(grant, load));
  if (alone) retire_trainer();
  if (status.ok()) status = others.empty() ? ensure_trainer() : gather(others);
  if (!status.ok()) link_.append_log(*attempt, "[worker] " + std::string(status.message()) + "\n");
  if (!status.ok()) {
    if (attempt->discarded()) return;
    if (wishes().stop) return finish_stopped(*attempt);
    const bool ours = absl::IsNotFound(status) || absl::IsDataLoss(status);
    link_.finish(*attempt, failed_outcome(ours ? "data" : "worker-lost", std::string(status.message())));
    return;
  }
  carry(*attempt, *start, load);
  if (alone) retire_trainer();
  std::error_code ignored;
  fs::remove_all(files_of(*attempt), ignored);
}

// What the specification says holds but for a load that ran out of memory beside others.
std::int64_t Slot::needed(const v1::StageGrant& grant, const std::string& load) const {
  const std::int64_t seen = loads_.needed(load);
  return grant.memory_given() && seen != kWholeDevice ? grant.memory_bytes() : seen;
}

bool Slot::begin_in_turn(Attempt& attempt, const std::string& load) {
  const auto gives_up = [&] {
    const RunWishes now = wishes();
    return attempt.discarded() || now.discard || now.stop;
  };
  const auto waits = [&](const MemoryRoom& room) {
    link_.set_progress(attempt, attempt.grant().resume_step(), 0, "wait for memory: " + room_text(room));
  };
  return packing_.begin_when_there_is_room(setup_.index, needed(attempt.grant(), load), gives_up, waits);
}

void Slot::carry(Attempt& attempt, const Json& start, const std::string& load) {
  TimeLimit time;
  if (attempt.grant().limit_seconds() > 0) {
    time.seconds = attempt.grant().limit_seconds();
    time.end = system_clock().steady() + std::chrono::microseconds(std::chrono::seconds(time.seconds)).count();
  }
  const auto judge = [&](v1::CompleteAttemptRequest& outcome) {
    const bool short_of_memory = outcome.failure_class() == to_string(FailureClass::kOutOfMemory);
    if (packing_.judge(setup_.index, outcome, system_clock().steady()) && short_of_memory) loads_.must_be_alone(load);
  };
  AttemptRun run(
      link_, attempt, *trainer_, wakeup_, setup_.limits, time, [this] { return wishes(); }, judge);
  if (peers_) run.join(*peers_);
  note_trainer(trainer_->pid());
  const bool reusable = run.run(start);
  note_trainer(0);
  if (!reusable) trainer_.reset();
  if (reusable && peers_) peers_->dismiss();
  peers_.reset();
  if (run.end_frame()) loads_.learn(start.at("stage"), *run.end_frame());
  if (!run.met_data_fault()) return;
  retire_trainer();  // it holds what it has read of the dataset
  setup_.check_data(start.at("stage").value("/dataset/id"_json_pointer, ""));
}

fs::path Slot::files_of(const Attempt& attempt) const {
  return setup_.scratch / (std::to_string(attempt.key().first) + "-" + std::to_string(attempt.key().second));
}

absl::StatusOr<Json> Slot::prepare(Attempt& attempt, std::vector<ArtifactCache::Pin>& pins) {
  const auto& grant = attempt.grant();
  link_.set_progress(attempt, grant.resume_step(), 0, "prepare");
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const auto& [slot, sha256] : grant.inputs()) {
    LOCUS_ASSIGN_OR_RETURN(auto blob, link_.fetch(sha256));
    inputs.emplace_back(slot, blob->path.string());
    pins.push_back(std::move(blob));
  }
  if (const std::string weights = first_weights(grant); !weights.empty()) {
    auto blob = link_.fetch(weights);
    if (!blob.ok() && !absl::IsNotFound(blob.status())) return blob.status();
    if (blob.ok()) {
      inputs.emplace_back("weights", (*blob)->path.string());
      pins.push_back(*std::move(blob));
    }
  }
  std::string resume;
  if (!grant.resume_sha256().empty()) {
    LOCUS_ASSIGN_OR_RETURN(auto blob, link_.fetch(grant.resume_sha256()));
    resume = blob->path.string();
    pins.push_back(std::move(blob));
  }
  SlotExecution execution = setup_.execution;
  execution.work = files_of(attempt);
  std::error_code made;
  fs::create_directories(execution.work, made);
  if (made) return file_error("create", execution.work, made.value());
  try {
    const Json start = start_frame(attempt, inputs, resume, wishes().until_step, execution);
    if (grant.slots_size() < 2) return start;
    return gang_frame(start, grant.slots_size(), {setup_.limits.start_silence, setup_.limits.silence});
  } catch (const Json::exception& error) {
    return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                      "the stage configuration granted is not JSON: " + std::string(error.what()));
  }
}

absl::Status Slot::ensure_trainer() {
  if (trainer_) {
    trainer_->read_output();
    pollfd exited{trainer_->process(), POLLIN, 0};
    if (::poll(&exited, 1, 0) == 0) return absl::OkStatus();
    trainer_.reset();  // it went while idle: of no consequence
  }
  LOCUS_ASSIGN_OR_RETURN(trainer_, start_trainer(setup_.trainer));
  return absl::OkStatus();
}

// A trainer here, and one on each of the others. What any of them writes is in the folders of this slot.
absl::Status Slot::gather(const std::vector<int>& others) {
  LOCUS_ASSIGN_OR_RETURN(auto first, start_trainer(with_sockets(setup_.trainer)));
  std::vector<std::unique_ptr<TrainerProcess>> peers;
  for (const int slot : others) {
    LOCUS_ASSIGN_OR_RETURN(TrainerSetup setup, setup_.peer(slot));
    LOCUS_ASSIGN_OR_RETURN(auto peer, start_trainer(with_sockets(std::move(setup))));
    peers.push_back(std::move(peer));
  }
  trainer_ = std::move(first);
  peers_ = std::make_unique<Peers>(std::move(peers));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TrainerProcess>> Slot::start_trainer(const TrainerSetup& trainer) {
  LOCUS_ASSIGN_OR_RETURN(auto started, TrainerProcess::start(trainer));
  LOCUS_RETURN_IF_ERROR(await_hello(*started));
  return started;
}

absl::Status Slot::await_hello(TrainerProcess& trainer) {
  const Microseconds end = system_clock().steady() + setup_.limits.start_silence;
  std::optional<Json> hello;
  try {
    bool open = true;
    while (!hello && open && system_clock().steady() < end && !overdue()) {
      pollfd fds[] = {{trainer.socket(), POLLIN, 0}, {trainer.output(), POLLIN, 0}};
      ::poll(fds, 2, 1000);
      trainer.read_output();
      open = trainer.receive();
      hello = trainer.next_frame();
    }
  } catch (const FrameError& error) {
    log_error("the trainer's first words: {}", error.what());
  }
  if (!hello) {
    const TrainerEnd gone = trainer.wait_end(kShutdownWait);
    return make_error(absl::StatusCode::kUnavailable, ErrorReason::kInvariantBroken,
                      "the trainer " + setup_.trainer.executable + " did not say hello: " + gone.reason, "",
                      {{"trainer", setup_.trainer.executable}});
  }
  const int protocol = hello->value("protocol", 0);
  const std::string digest = hello->value("catalog_digest", "");
  if (protocol == kTrainerProtocolVersion && digest == setup_.catalog_digest) return absl::OkStatus();
  const absl::Status status = make_error(
      absl::StatusCode::kFailedPrecondition,
      protocol != kTrainerProtocolVersion ? ErrorReason::kUnsupportedVersion : ErrorReason::kCatalogMismatch,
      "the trainer " + setup_.trainer.executable +
          (protocol != kTrainerProtocolVersion
               ? " speaks protocol " + std::to_string(protocol) + ", this daemon " +
                     std::to_string(kTrainerProtocolVersion) + ": install worker and trainer of one build"
               : " has another catalog than the one this worker announced: it was replaced, start the worker "
                 "again"),
      "", {{"protocol", std::to_string(protocol)}, {"catalog_digest", digest}});
  unusable_(status);
  return status;
}

void Slot::retire_trainer() {
  if (!trainer_) return;
  try {
    trainer_->send({{"type", "shutdown"}});
  } catch (const FrameError&) {  // it has gone already
  }
  trainer_->wait_end(kShutdownWait);
  trainer_.reset();
}

}  // namespace locus

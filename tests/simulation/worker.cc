// The simulated worker: see worker.h.
#include "tests/simulation/worker.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/simulation/search_script.h"

namespace locus::simulation {
namespace {

constexpr Microseconds kAskDeadline = 10 * kSecond;
constexpr std::int64_t kCheckpointEvery = 5;
constexpr std::int64_t kFatalStep = 3;

}  // namespace

Fate fate_of(const std::string& config_json) {
  if (config_json.find("\"prior\":\"diverges\"") != std::string::npos) return Fate::kDiverges;
  return config_json.find("\"prior\":\"poison\"") != std::string::npos ? Fate::kPoison : Fate::kNormal;
}

std::int64_t steps_of(const std::string& kind) { return kind == "train" ? kTrainingSteps : 3; }

std::string checkpoint_sha(StageId stage, std::int64_t step) {
  std::string sha = std::to_string(stage * 1000 + step);
  return std::string(64 - sha.size(), '0') + sha;
}

WorkerProcess::WorkerProcess(World& world, Network& network, ServerProcess& server, Ledger& ledger, WorkerTraits traits,
                             LeasePolicy policy, Mutant mutant)
    : Process(world, traits.name),
      network_(network),
      server_(server),
      ledger_(ledger),
      traits_(std::move(traits)),
      policy_(policy),
      mutant_(mutant),
      book_(policy) {}

void WorkerProcess::on_boot() {
  session_ = traits_.name + "-" + std::to_string(world_.random.draw());
  book_ = LeaseBook(policy_);
  found_bad_ = false;
  dies_at_ = steady() + traits_.lifetime;
  send_leftovers();
  keep_pumping();
}

void WorkerProcess::on_crash() {
  trainers_.clear();  // they die with their parent
  calls_.clear();
  registering_ = asking_ = false;
  request_id_.clear();
  if (traits_.supervised) {
    world_.at(world_.now() + world_.random.between(1, 20) * kSecond, [this] { boot(); });
  }
}

void WorkerProcess::keep_pumping() {
  pump();
  after(kSecond, [this] { keep_pumping(); });
}

void WorkerProcess::pump() {
  for (const auto& [key, order] : book_.take_orders(steady())) {
    world_.trace(name(), order == LeaseOrder::kDiscard ? " discards " : " stops ", key.first, "/", key.second);
    if (order == LeaseOrder::kDiscard) {
      discard(key);
    } else if (auto found = trainers_.find(key); found != trainers_.end() && found->second.phase == Phase::kTraining) {
      found->second.phase = Phase::kStopping;  // one that has ended, or is being stopped, needs no telling
    }
  }
  if (dying()) die();
  if (book_.must_register()) {
    register_here();
  } else if (steady() >= book_.heartbeat_due()) {
    beat();
  }
  ask_for_work();
  std::vector<Key> keys;
  for (auto& [key, trainer] : trainers_) {
    keys.push_back(key);
    const bool fenced = !may_commit(key);
    if (trainer.fenced && !fenced) ++freed_;
    trainer.fenced = fenced;
  }
  for (const Key& key : keys) {
    send_points(key);
    deliver_next(key);
  }
}

// What it runs is saved and stopped; when that is delivered, it ends.
void WorkerProcess::die() {
  for (auto& [key, trainer] : trainers_) {
    if (trainer.phase == Phase::kTraining) trainer.phase = Phase::kStopping;
  }
  if (trainers_.empty() && !asking_) after(0, [this] { crash(); });
}

// A call with a deadline. `done` runs once: with the answer, or DEADLINE_EXCEEDED.
void WorkerProcess::call(std::function<void(Respond)> request, Microseconds deadline, Respond done) {
  const std::int64_t id = next_call_++;
  calls_[id] = std::move(done);
  auto finish = [this, id](const Answer& answer) {
    auto found = calls_.find(id);
    if (found == calls_.end()) return;
    const Respond run = std::move(found->second);
    calls_.erase(found);
    run(answer);
  };
  after(deadline, [finish] { finish({.status = absl::DeadlineExceededError("no answer")}); });
  network_.send(*this, server_, [this, request = std::move(request), finish] {
    request(
        [this, finish](const Answer& answer) { network_.send(server_, *this, [finish, answer] { finish(answer); }); });
  });
}

bool WorkerProcess::noticed(const absl::Status& status) {
  if (!has_reason(status, ErrorReason::kWorkerNotFound)) return false;
  book_.session_unknown();
  return true;
}

void WorkerProcess::register_here() {
  if (registering_) return;
  registering_ = true;
  WorkerRegistered event;
  event.name = traits_.name;
  event.session = session_;
  Json announced = Json::array();
  for (int slot = 0; slot < traits_.slots; ++slot) {
    const bool cpu = traits_.per_device == 0;
    event.slots.push_back({cpu ? "cpu" : "cuda", cpu ? slot : slot / traits_.per_device, 1});
    const SlotOffer& offer = event.slots.back();
    announced.push_back({{"device", offer.device}, {"index", offer.index}, {"threads", 1}});
  }
  if (traits_.lifetime > 0) {
    event.time_left = std::max<Microseconds>(0, dies_at_ - steady());
    event.lifetime = traits_.lifetime;
  }
  event.slots_json = announced.dump();
  event.labels = traits_.labels;
  event.gangs = true;
  event.revisions = traits_.revisions;
  event.instance = traits_.instance;
  event.take_over = traits_.take_over;
  if (traits_.says_data) {
    event.datasets.emplace();
    if (traits_.holds_data && !found_bad_) event.datasets->insert("d");
    event.data_json = event.datasets->empty() ? R"({"held":[]})" : R"({"held":["d"]})";
  }
  event.running = book_.claims();
  call([this, event](Respond respond) { server_.ask(event, std::move(respond)); }, kAskDeadline,
       [this](const Answer& answer) {
         registering_ = false;
         if (answer.status.ok()) {
           book_.registration_answered();
         } else if (has_reason(answer.status, ErrorReason::kWorkerNameTaken)) {
           world_.trace(name(), " finds its name taken");
           after(0, [this] { crash(); });
         } else if (has_reason(answer.status, ErrorReason::kWrongState)) {
           world_.trace(name(), " gives way to a newer daemon of its name");
           after(0, [this] { crash(); });
         }
       });
}

void WorkerProcess::beat() {
  const Microseconds sent = steady();
  const LeasesSynced event{0, session_, book_.heartbeat_sent(sent)};
  call([this, event](Respond respond) { server_.ask(event, std::move(respond)); }, kAskDeadline,
       [this, sent](const Answer& answer) {
         if (noticed(answer.status) || !answer.status.ok()) return;
         std::vector<std::pair<Key, LeaseWish>> wishes;
         for (const auto& [lease, wish] : answer.wishes) {
           wishes.emplace_back(Key{lease.stage_id, lease.attempt}, wish);
         }
         std::map<Key, std::int64_t> until;
         for (const auto& [lease, wish] : answer.wishes) {
           const auto stop = answer.until.find(lease.stage_id);
           if (stop != answer.until.end()) until[{lease.stage_id, lease.attempt}] = stop->second;
         }
         book_.heartbeat_answered(sent, wishes, until);
         pump();
       });
}

std::vector<int> WorkerProcess::free_slots() const {
  std::vector<int> free;
  for (int slot = 0; slot < traits_.slots; ++slot) {
    const bool taken = std::any_of(trainers_.begin(), trainers_.end(),
                                   [&](const auto& t) { return std::ranges::count(t.second.grant.slots, slot) > 0; });
    if (!taken || mutant_ == Mutant::kOffersTwice) free.push_back(slot);
  }
  return free;
}

void WorkerProcess::ask_for_work() {
  const std::vector<int> slots = free_slots();
  if (asking_ || book_.must_register() || slots.empty() || dying()) return;
  asking_ = true;
  if (request_id_.empty()) request_id_ = session_ + "/" + std::to_string(++request_);
  const Microseconds sent = steady();
  const WorkRequested event{0, session_, request_id_, slots, 15 * kSecond};
  call([this, event](Respond respond) { server_.ask(event, std::move(respond)); }, 15 * kSecond + kAskDeadline,
       [this, sent](const Answer& answer) {
         asking_ = false;
         if (noticed(answer.status) || !answer.status.ok()) return;  // the same request again
         request_id_.clear();
         if (answer.grant) take(*answer.grant, sent);
       });
}

void WorkerProcess::take(const Grant& grant, Microseconds sent) {
  const Key key{grant.stage_id, grant.attempt};
  if (!book_.add(key, sent, steady(), grant.until_step)) return;
  for (const auto& [slot, sha] : grant.inputs) {
    if (!ledger_.blobs().contains(sha)) throw Violation(8, "a grant names an input that does not exist");
  }
  if (!grant.resume_sha256.empty() && !ledger_.blobs().contains(grant.resume_sha256))
    throw Violation(8, "a grant names a checkpoint that was collected");
  if (!grant.resume_sha256.empty() && grant.resume_sha256 != checkpoint_sha(grant.stage_id, grant.resume_step)) {
    throw Violation(8, "a grant names another checkpoint than its step says");
  }
  // One that runs alone begins beside nothing at all; nothing begins beside one, unless its figures are lost
  // anyway.
  for (const auto& [other, trainer] : trainers_) {
    for (const int slot : grant.slots) {
      if (std::ranges::count(trainer.grant.slots, slot) > 0)
        throw Violation(30, name() + " has slot " + std::to_string(slot) + " for two attempts");
    }
    if (trainer.phase == Phase::kFinished || !shares_device(grant.slots, trainer.grant.slots)) continue;
    const AttemptRecord* attempt = ledger_.attempt(other.first, other.second);
    const bool counts = attempt != nullptr && attempt->state == AttemptState::kRunning;
    if (grant.kind == "measure" || (trainer.grant.kind == "measure" && counts))
      throw Violation(11, name() + " runs " + grant.kind + " beside " + trainer.grant.kind);
  }
  Trainer trainer{.grant = grant,
                  .life = next_life_++,
                  .step = grant.resume_step,
                  .checkpoints = {},
                  .points_up_to_step = grant.resume_step};
  outboxes_[key] = {};
  world_.trace(name(), " starts ", key.first, "/", key.second, " (", grant.kind, ") from step ", grant.resume_step);
  trainers_.emplace(key, std::move(trainer));
  train(key, trainers_.at(key).life);
  limit(key, trainers_.at(key).life, grant.limit_seconds);
  pump();
}

bool WorkerProcess::shares_device(const std::vector<int>& some, const std::vector<int>& others) const {
  if (traits_.per_device == 0) return true;
  return std::ranges::any_of(some, [&](int slot) {
    return std::ranges::any_of(others,
                               [&](int other) { return slot / traits_.per_device == other / traits_.per_device; });
  });
}

void WorkerProcess::limit(Key key, std::int64_t life, std::int64_t seconds) {
  if (seconds == 0) return;
  after(seconds * kSecond, [this, key, life] {
    auto found = trainers_.find(key);
    if (found == trainers_.end() || found->second.life != life) return;
    if (found->second.phase == Phase::kTraining) found->second.phase = Phase::kTimeUp;
  });
}

void WorkerProcess::train(Key key, std::int64_t life) {
  after(traits_.step_time, [this, key, life] {
    auto found = trainers_.find(key);
    if (found == trainers_.end() || found->second.life != life) return;
    Trainer& trainer = found->second;
    if (trainer.phase == Phase::kStopping && !traits_.deaf) {
      trainer.checkpoints.push_back(trainer.step);
      return finish(trainer, AttemptState::kStopped);
    }
    if (trainer.phase == Phase::kTimeUp) {
      trainer.checkpoints.push_back(trainer.step);
      return finish(trainer, AttemptState::kFailed, FailureClass::kTimeout);
    }
    if (trainer.phase == Phase::kFinished) return;
    if (trainer.step >= steps_of(trainer.grant.kind)) return finish(trainer, AttemptState::kSucceeded);
    if (trainer.step > 0 && trainer.step == trainer.grant.resume_step && park(key, trainer)) return;
    const bool reads = trainer.grant.config_json.find("\"dataset\":\"d\"") != std::string::npos;
    if (reads && (traits_.bad_data || !traits_.holds_data)) {
      found_bad_ = true;
      book_.session_unknown();  // to say so
      return finish(trainer, AttemptState::kFailed, FailureClass::kData);
    }
    trainer.step += 1;
    outboxes_[key].steps.push_back(trainer.step);
    outboxes_[key].losses.push_back(loss_at(trainer.grant.config_json, trainer.step) + strayed(key, trainer));
    book_.set_progress(key, trainer.step, steps_of(trainer.grant.kind), "train");
    const Fate fate = fate_of(trainer.grant.config_json);
    if (trainer.step >= kFatalStep && fate == Fate::kDiverges) {
      return finish(trainer, AttemptState::kFailed, FailureClass::kDiverged);
    }
    if (trainer.step >= kFatalStep && fate == Fate::kPoison) return crash();
    if (park(key, trainer)) return;
    if (trainer.step % kCheckpointEvery == 0) trainer.checkpoints.push_back(trainer.step);
    train(key, life);
  });
}

void WorkerProcess::repair_data() {
  traits_.holds_data = true;
  traits_.bad_data = found_bad_ = false;
  if (responsive()) book_.session_unknown();  // to say so
}

// The planted defect: what had parked does not go on as it was.
double WorkerProcess::strayed(Key key, const Trainer& trainer) const {
  if (mutant_ != Mutant::kGoesOnAstray || trainer.grant.resume_step == 0) return 0;
  const AttemptRecord* before = ledger_.attempt(key.first, key.second - 1);
  return before != nullptr && before->state == AttemptState::kParked ? 0.5 : 0;
}

// Every step is validated, the last one is no place to park.
bool WorkerProcess::park(Key key, Trainer& trainer) {
  const std::int64_t until = book_.until_step(key);
  const bool there = until < 0 || (until > 0 && trainer.step >= until);
  if (!there || trainer.grant.kind != "train" || trainer.step >= steps_of(trainer.grant.kind)) return false;
  world_.trace(name(), " parks ", key.first, "/", key.second, " at step ", trainer.step);
  trainer.checkpoints.push_back(trainer.step);
  finish(trainer, AttemptState::kParked);
  return true;
}

void WorkerProcess::finish(Trainer& trainer, AttemptState outcome, FailureClass failure_class) {
  trainer.phase = Phase::kFinished;
  trainer.outcome = outcome;
  trainer.failure_class = failure_class;
  if (outcome == AttemptState::kSucceeded) trainer.checkpoints.push_back(trainer.step);
}

void WorkerProcess::kill_trainer() {
  for (auto& [key, trainer] : trainers_) {
    if (trainer.phase == Phase::kFinished) continue;
    world_.trace(name(), ": the trainer of ", key.first, "/", key.second, " dies");
    trainer.life = next_life_++;
    trainer.checkpoints.clear();
    finish(trainer, AttemptState::kFailed, FailureClass::kCode);
    return;
  }
}

std::size_t WorkerProcess::outbox_points() const {
  std::size_t most = 0;
  for (const auto& [key, outbox] : outboxes_) most = std::max(most, outbox.steps.size());
  return most;
}

void WorkerProcess::discard(Key key) {
  book_.remove(key);
  trainers_.erase(key);
  outboxes_.erase(key);
}

}  // namespace locus::simulation

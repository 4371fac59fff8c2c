// Workers in simulated time: see pool.h.
#include "bench/pool.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/base/sha256.h"

namespace locus::bench {
namespace {

// Ends the program with the error on stderr.
void insist(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

}  // namespace

Pool::Pool(int workers, int slots)
    : store_(make_memory_store()),
      scheduler_(std::make_unique<Scheduler>(store_->load().value(), now_)),
      slots_(slots),
      workers_(static_cast<std::size_t>(workers)) {
  for (int w = 0; w < workers; ++w) {
    at(w).name = "pool-" + std::to_string(w);
    for (int slot = 0; slot < slots; ++slot) at(w).free.push_back(slot);
    enroll(w);
  }
}
Pool::~Pool() = default;

void Pool::share(AccountRow row) { step("share", AccountChanged{next_++, std::move(row)}); }

void Pool::submit(const std::string& owner, int trials, const Asked& asked) {
  const std::string name = owner + "-" + std::to_string(next_);
  ExperimentSubmitted event;
  event.reply = next_++;
  event.row.name = name;
  event.row.owner = owner;
  event.row.spec_json = "{}";
  event.row.placement = asked.placement;
  event.row.service_class = asked.service_class;
  event.row.priority = asked.priority;
  StageRequirements requirements;
  requirements.exclusive = asked.alone;
  const auto asks = std::make_shared<const StageRequirements>(std::move(requirements));
  event.cells = {{0, "{}", "cell", "{}"}};
  for (int trial = 0; trial < trials; ++trial) {
    event.trials.push_back({trial, 0, trial, false});
    const std::string identity = sha256_hex(name + "/" + std::to_string(trial));
    StageRow& row = event.stages[identity].row;
    row.identity = identity;
    row.kind = "train";
    row.config_json = "{}";
    row.seed = trial;
    row.requirements = asks;
    event.links.push_back({trial, "train", identity});
  }
  step("submit", std::move(event));
}

std::vector<StatedAttempt> Pool::stated(const PoolWorker& worker) const {
  std::vector<StatedAttempt> out;
  for (const auto& [stage, run] : worker.running) out.push_back({stage, run.attempt, 0, 0, "train"});
  return out;
}

void Pool::enroll(int worker) {
  WorkerRegistered event;
  event.reply = next_++;
  event.name = at(worker).name;
  event.session = "session-of-" + at(worker).name;
  for (int slot = 0; slot < slots_; ++slot) event.slots.push_back({"cpu", slot, 1});
  event.running = stated(at(worker));
  event.gangs = true;
  at(worker).known = true;
  step("enroll", std::move(event), worker);
}

void Pool::beat(int worker) {
  LeasesSynced event;
  event.reply = next_++;
  event.session = "session-of-" + at(worker).name;
  event.running = stated(at(worker));
  step("beat", std::move(event), worker);
}

void Pool::ask(int worker, Microseconds wait) {
  PoolWorker& one = at(worker);
  if (one.asking || one.free.empty() || !one.known) return;
  const ReplyToken token = next_++;
  one.asking = true;
  asked_[token] = worker;
  step("ask", WorkRequested{token, "session-of-" + one.name, "request-" + std::to_string(token), one.free, wait},
       worker);
}

void Pool::finish(const Granted& granted) {
  if (!runs(granted)) return;
  AttemptCompleted event;
  event.reply = next_++;
  event.session = "session-of-" + at(granted.worker).name;
  event.stage_id = granted.grant.stage_id;
  event.attempt = granted.grant.attempt;
  event.outcome = AttemptState::kSucceeded;
  let_go(at(granted.worker), granted.grant.stage_id);
  step("finish", std::move(event), granted.worker);
}

void Pool::let_go(PoolWorker& worker, StageId stage) {
  const auto run = worker.running.extract(stage);
  if (!run.empty()) worker.free.insert(worker.free.end(), run.mapped().slots.begin(), run.mapped().slots.end());
}

void Pool::tick() { step("tick", Tick{}); }

bool Pool::runs(const Granted& granted) const {
  const auto& running = workers_[static_cast<std::size_t>(granted.worker)].running;
  const auto found = running.find(granted.grant.stage_id);
  return found != running.end() && found->second.attempt == granted.grant.attempt;
}

std::optional<Pool::Granted> Pool::take() {
  ask(0, 0);
  std::vector<Granted> granted = take_granted();
  if (granted.empty()) return std::nullopt;
  return std::move(granted.front());
}

std::vector<Pool::Granted> Pool::take_granted() { return std::exchange(granted_, {}); }

std::map<std::string, std::vector<double>> Pool::take_times() { return std::exchange(times_, {}); }

void Pool::set_time(Microseconds steady) {
  now_.wall += steady - now_.steady;
  now_.steady = steady;
}

void Pool::pass_to(Microseconds steady) {
  set_time(steady);
  for (int w = 0; w < static_cast<int>(workers_.size()); ++w) beat(w);
}

void Pool::step(const char* what, Event event, int worker) {
  const auto start = std::chrono::steady_clock::now();
  const Decision decision = scheduler_->step(event, now_);
  const auto took = std::chrono::steady_clock::now() - start;
  times_[what].push_back(std::chrono::duration<double, std::micro>(took).count());
  insist(store_->apply(decision.mutations, now_.wall));
  for (const Command& command : decision.commands) {
    if (const auto* error = std::get_if<ReplyError>(&command)) {
      if (!absl::IsNotFound(error->status) && !absl::IsAborted(error->status)) insist(error->status);
      const auto asked = asked_.find(error->reply);
      const int unknown = asked == asked_.end() ? worker : asked->second;
      if (unknown >= 0 && absl::IsNotFound(error->status)) at(unknown).known = at(unknown).asking = false;
    }
    if (const auto* wishes = std::get_if<ReplyWishes>(&command)) {
      PoolWorker& one = at(worker);
      for (const auto& [attempt, wish] : wishes->wishes) {
        if (wish != LeaseWish::kContinue) let_go(one, attempt.stage_id);
      }
    }
    const auto* reply = std::get_if<ReplyGrant>(&command);
    const auto asked = reply == nullptr ? asked_.end() : asked_.find(reply->reply);
    if (asked == asked_.end()) continue;
    PoolWorker& one = at(asked->second);
    one.asking = false;
    if (reply->grant) {
      for (const int slot : reply->grant->slots) std::erase(one.free, slot);
      one.running[reply->grant->stage_id] = {reply->grant->attempt, reply->grant->slots};
      granted_.push_back({asked->second, *reply->grant});
    }
    asked_.erase(asked);
  }
}

}  // namespace locus::bench

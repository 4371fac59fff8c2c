// The invariants: see cluster.h. Numbers are those of the reliability rules:
//  1 acknowledged is durable        2 nothing is invented           3 one current token, old ones change nothing
//  4 one executor per stage         5 states follow their graph     6 nothing is forgotten
//  7 sequences have no gaps         8 a checkpoint row has its file 9 everything is bounded
// 10 it all comes to an end        11 what runs alone has its device to itself
// 12 a grant has the time limit of an experiment that references it
// 13 a daemon that is heard keeps its name, unless another one takes it over
// 15 to 25: search_watch.cc
// 14 a stage goes to who holds its dataset, or does not say what it holds
// 26 to 29: share_watch.h; 30 to 34: exchange_watch.h; 35 to 37: place_watch.h
// 1, 2, 3, 5, 7, 8, 11, 12 and 14 are asked of the store (ledger.cc), 11 of the workers' trainers, too, 13 of every step
// of the server. Expressible in part
// only: 4 counts those who may commit, not those who compute (a cut-off trainer goes on by design); 8 compares
// names, since simulated files have no bytes; 9 covers queues and memories, not descriptors, threads or the
// write-ahead log, which belong to the real processes.
#include "tests/simulation/cluster.h"

#include "core/scheduling/retry.h"
#include "storage/memory/store.h"
#include "tests/simulation/search_script.h"

namespace locus::simulation {
namespace {

constexpr std::size_t kOutboxMost = 64, kWaitingMost = 16, kAgendaMost = 4000;
constexpr int kInFlightMost = 2000;
constexpr Microseconds kJudgingMost = 10 * kSecond;

std::map<std::string, int> revisions(const std::vector<std::string>& cells) {
  std::map<std::string, int> all{{"stage/train", 1}, {"stage/evaluate", 1}, {"stage/measure", 1}};
  for (const std::string& cell : cells) {
    for (const std::string& name : {cell, retrained(cell)}) all["prior/" + name] = 1;
  }
  return all;
}

}  // namespace

SchedulerPolicy server_policy() {
  SchedulerPolicy policy;
  policy.grace = 120 * kSecond;
  policy.retry_most = 30 * kSecond;
  policy.cancellations_per_step = 1;
  policy.min_run = 15 * kSecond;
  policy.reclaim_after = 10 * kSecond;
  policy.preempt_every = policy.preempt_wait = 20 * kSecond;
  return policy;
}

Cluster::Cluster(World& w, Mutant mutant)
    : world(w), network(w), ledger(w, make_memory_store()), server(w, ledger, server_policy(), mutant) {
  const auto count = w.random.between(1, 3);
  for (std::int64_t i = 0; i <= count; ++i) {
    const bool twin = i == count;
    WorkerTraits traits;
    traits.name = twin ? "w0" : "w" + std::to_string(i);
    traits.slots = static_cast<int>(w.random.between(1, 2));
    traits.step_time = w.random.between(500, 4000) * kMillisecond;
    traits.supervised = !twin;
    traits.revisions = revisions({"a", "b", "s0", "s1", "s2", "s3", "s4", "s5", "diverges", "poison"});
    traits.revisions["dataset/d"] = 1;
    traits.instance = "folder-" + std::to_string(i) + "@boot";
    traits.take_over = twin && w.random.chance(0.5);
    if (i > 0 && !twin) {  // the first holds sound data, so everything comes to an end
      traits.says_data = w.random.chance(0.8);
      traits.holds_data = w.random.chance(0.6);
      traits.bad_data = w.random.chance(0.3);
    }
    if (i == 0 || twin || w.random.chance(0.7)) traits.revisions["prior/c"] = 1;
    // The first has every label that is asked for; another claims what nobody granted it.
    if (i == 0 || twin) traits.labels.granted = {{"pool", "vision"}};
    if (i > 0 && !twin) (count > 2 ? traits.labels.granted : traits.labels.announced) = {{"pool", "visions"}};
    if (i == 1 && !twin) traits.labels.announced = {{"pool", "vision"}, {"node/cores", "8"}};
    traits.labels.announced["node/kind"] = i == 1 && !twin ? "new" : "old";
    workers.push_back(std::make_unique<WorkerProcess>(w, network, server, ledger, traits, kWorkerPolicy, mutant));
  }
}

void Cluster::check_step() {
  check_executors();
  check_bounds();
  const std::set<StageId> dirty = ledger.take_dirty();
  for (StageId id : dirty) ledger.check_stage(id);
  for (StageId id : dirty) {
    if (ledger.stages().contains(id) && ledger.stages().at(id).state == StageState::kQueued) check_reason(id);
  }
  check_some_reason();
  const std::set<StageId> waiting = ledger.exchanges().take_waiting();
  for (StageId id : waiting) {
    if (server.up() && ledger.stages().contains(id) && ledger.stages().at(id).state == StageState::kQueued)
      ledger.exchanges().check_reason(id, server.explain(id));
  }
  if (!server.up()) {
    last_scheduler_ = nullptr;
  } else if (server.scheduler() != last_scheduler_) {
    last_scheduler_ = server.scheduler();
    ledger.check_all();  // what a restart finds is everything that was promised
    for (const auto& [id, record] : ledger.stages()) check_nothing_forgotten(id);
  } else {
    for (StageId id : dirty) check_nothing_forgotten(id);
  }
}

// Invariant 28.
void Cluster::check_reason(StageId id) {
  const std::string reason = server.explain(id);
  ledger.shares().check_reason(reason, ledger);
  ledger.places().check_reason(id, reason, ledger.shares(), ledger, {world.now(), server.wall()});
}

// Of those that wait one after the other: what is said of them changes with what others do.
void Cluster::check_some_reason() {
  if (!server.up() || ledger.stages().empty()) return;
  auto next = ledger.stages().upper_bound(last_asked_);
  if (next == ledger.stages().end()) next = ledger.stages().begin();
  last_asked_ = next->first;
  if (next->second.state == StageState::kQueued) check_reason(last_asked_);
}

// Invariant 4. A former executor may believe in its lease for one fence after it was taken away, no longer.
void Cluster::check_executors() const {
  for (const auto& worker : workers) {
    worker->visit_executors([&](LeaseBook::Key key) {
      const AttemptRecord* attempt = ledger.attempt(key.first, key.second);
      const std::string text =
          worker->name() + " may commit " + std::to_string(key.first) + "/" + std::to_string(key.second);
      if (attempt == nullptr) throw Violation(4, text + ", which nobody granted");
      if (attempt->state == AttemptState::kRunning) return;
      if (world.now() - attempt->ended_at > kWorkerPolicy.fence) {
        throw Violation(4, text + " long after it had been " + to_string(attempt->state));
      }
    });
  }
}

// Invariant 9.
void Cluster::check_bounds() const {
  for (const auto& worker : workers) {
    if (worker->outbox_points() > kOutboxMost) throw Violation(9, worker->name() + "'s outbox outgrew its attempt");
  }
  if (network.in_flight() > kInFlightMost) throw Violation(9, "messages pile up in the network");
  if (world.agenda_size() > kAgendaMost) throw Violation(9, "timers pile up");
  if (server.scheduler() != nullptr && server.scheduler()->waiting().size() > kWaitingMost) {
    throw Violation(9, "callers pile up in the scheduler");
  }
}

// Invariant 6: what is not terminal, the scheduler knows and holds in the same state.
void Cluster::check_nothing_forgotten(StageId id) const {
  const StageRecord& record = ledger.stages().at(id);
  const auto held = server.scheduler()->stage_state(id);
  const std::string text = "stage " + std::to_string(id) + " (" + to_string(record.state) + ")";
  if (!terminal(record.state) && !held)
    throw Violation(6, text + " is not terminal and the scheduler has forgotten it");
  if (held && *held != record.state) throw Violation(6, text + " is " + to_string(*held) + " for the scheduler");
}

bool Cluster::settled() {
  if (ledger.take_moved()) searches_end_ = world.now() + kJudgingMost;
  if (world.now() < searches_end_) return false;  // what has ended last is still to be judged
  for (const auto& [id, record] : ledger.stages()) {
    if (!terminal(record.state)) return false;
  }
  return true;
}

void Cluster::check_end() {
  if (!settled()) {
    for (const auto& [id, record] : ledger.stages()) {
      if (terminal(record.state)) continue;
      const Now now{server.steady(), server.wall()};
      throw Violation(10, "stage " + std::to_string(id) + " is still " + to_string(record.state) + ": " +
                              (server.up() ? server.scheduler()->explain(id, now) : "no server"));
    }
  }
  ledger.check_all();
  for (const auto& [id, record] : ledger.stages()) check_reasons(id, record);
  ledger.searches().check_end(ledger);
  for (const ExperimentId id : ledger.searches().searches()) {
    ledger.searches().check_links(id, ledger);
    if (server.has_more_to_decide(id))
      throw Violation(20, "experiment " + std::to_string(id) + " has something to decide that nobody looks at");
  }
}

// Whatever did not succeed has a cause that excuses it.
void Cluster::check_reasons(StageId id, const StageRecord& record) {
  const StageRow row = ledger.stage(id).value();
  const std::string text = "stage " + std::to_string(id) + " ended " + to_string(record.state);
  const SchedulerPolicy policy = server_policy();
  if (record.state != StageState::kSucceeded && row.reason.empty()) throw Violation(10, text + " without a reason");
  if (record.state == StageState::kSucceeded && fate_of(row.config_json) != Fate::kNormal && row.kind == "train") {
    throw Violation(10, text + " although it never can");
  }
  if (record.state == StageState::kFailed && row.failures < budget_of(row.failure_class, policy)) {
    throw Violation(10, text + " with budget left");
  }
  if (record.state == StageState::kHeld && row.faults < policy.strikes) throw Violation(10, text + " too early");
}

}  // namespace locus::simulation

// Faults and people: see chaos.h.
#include "tests/simulation/chaos.h"

namespace locus::simulation {
namespace {

constexpr Microseconds kTrouble = 300 * kSecond;

}  // namespace

Chaos::Chaos(Cluster& cluster)
    : cluster_(cluster), world_(cluster.world), draw_(Random(world_.random).draw()), more_(Random(draw_).draw()) {
  shared_ = draw_.chance(0.5);
  if (shared_) set_up_workers();
}

WorkerProcess& Chaos::some_worker() {
  return *cluster_.workers[static_cast<std::size_t>(
      world_.random.between(0, static_cast<std::int64_t>(cluster_.workers.size()) - 2))];
}

Microseconds Chaos::plan() {
  world_.at(0, [this] { cluster_.server.boot(); });
  for (std::size_t i = 0; i + 1 < cluster_.workers.size(); ++i) {
    world_.at(world_.random.between(0, 10) * kSecond, [this, i] { cluster_.workers[i]->boot(); });
  }
  plan_person();
  plan_faults();
  return kTrouble;
}

Microseconds Chaos::plan(const SearchPlan& only) {
  world_.at(0, [this] { cluster_.server.boot(); });
  for (std::size_t i = 0; i + 1 < cluster_.workers.size(); ++i)
    world_.at(world_.random.between(0, 10) * kSecond, [this, i] { cluster_.workers[i]->boot(); });
  person(kSecond, "submits " + only.matrix.name, [this, only] { return cluster_.server.submit(only); });
  world_.at(kTrouble + 60 * kSecond, [this] { tend(50); });
  plan_faults();
  return kTrouble;
}

void Chaos::plan_faults() {
  const auto faults = world_.random.between(0, 20);
  for (std::int64_t i = 0; i < faults; ++i) plan_fault(world_.random.between(2, kTrouble / kSecond) * kSecond);
  if (world_.random.chance(0.5)) {
    const Microseconds from = world_.random.between(0, 200) * kSecond;
    world_.at(from, [this] { cluster_.network.set_rough(true); });
  }
  world_.at(kTrouble, [this] { mend(); });
}

void Chaos::mend() {
  world_.trace("the last fault is over");
  cluster_.network.heal();
  cluster_.server.forget_planned_faults();
  cluster_.server.boot();
  cluster_.server.resume();
  for (auto& worker : cluster_.workers) {
    worker->resume();
    if (worker->traits().supervised) worker->boot();
  }
}

void Chaos::plan_fault(Microseconds at) {
  // Mostly shorter than a lease, sometimes longer than the grace.
  const Microseconds length =
      world_.random.chance(0.15) ? world_.random.between(60, 200) * kSecond : world_.random.between(1, 40) * kSecond;
  switch (world_.random.between(0, 9)) {
    case 0:
    case 1:
      return fault_of_the_server(at, length);
    case 2:
    case 3:
    case 4:
      return fault_of_a_worker(at, length);
    case 5:
    case 6:
    case 7:
      return fault_of_a_link(at, length);
    case 8:
      return fault_of_the_disk(at, length);
    default:
      return fault_of_a_clock(at);
  }
}

void Chaos::fault_of_the_server(Microseconds at, Microseconds length) {
  ServerProcess& server = cluster_.server;
  switch (world_.random.between(0, 2)) {
    case 0:
      world_.at(at, [&server] { server.crash(); });
      break;
    case 1:
      world_.at(at, [&server] { server.stop(); });
      world_.at(at + length, [&server] { server.resume(); });
      return;
    default: {
      using enum ServerProcess::CrashPoint;
      const auto point = world_.random.chance(0.5) ? kBeforeCommit : kAfterCommit;
      world_.at(at, [&server, point] { server.crash_at_next_commit(point); });
    }
  }
  world_.at(at + length, [&server] { server.boot(); });
}

void Chaos::fault_of_a_worker(Microseconds at, Microseconds length) {
  WorkerProcess& worker = some_worker();
  switch (world_.random.between(0, 5)) {
    case 0:
    case 1:
      world_.at(at, [&worker] { worker.crash(); });
      break;
    case 2:
    case 3:
      world_.at(at, [&worker] { worker.stop(); });
      world_.at(at + length, [&worker] { worker.resume(); });
      break;
    case 4:
      world_.at(at, [&worker] { worker.kill_trainer(); });
      break;
    default: {
      WorkerProcess& twin = *cluster_.workers.back();
      world_.at(at, [&twin] { twin.boot(); });
      world_.at(at + length, [&twin] { twin.crash(); });
    }
  }
}

void Chaos::fault_of_a_link(Microseconds at, Microseconds length) {
  WorkerProcess& worker = some_worker();
  const auto ways = world_.random.between(0, 2);
  auto set = [this, &worker, ways](bool broken) {
    if (ways != 1) cluster_.network.cut(worker, cluster_.server, broken);
    if (ways != 0) cluster_.network.cut(cluster_.server, worker, broken);
  };
  world_.at(at, [set] { set(true); });
  world_.at(at + length, [set] { set(false); });
}

void Chaos::fault_of_the_disk(Microseconds at, Microseconds length) {
  ServerProcess& server = cluster_.server;
  if (world_.random.chance(0.3)) {
    world_.at(at, [&server] { server.lie_about_next_commit(); });
    return;
  }
  world_.at(at, [&server] { server.set_disk_refuses(true); });
  world_.at(at + length, [&server] { server.set_disk_refuses(false); });
}

void Chaos::fault_of_a_clock(Microseconds at) {
  Process* process = &cluster_.server;
  if (world_.random.chance(0.5)) process = &some_worker();
  const std::int64_t years[] = {0, 30, 53, 70};
  const Microseconds to = years[world_.random.between(0, 3)] * 365 * 86'400 * kSecond;
  world_.at(at, [process, to] { process->jump_wall(to); });
}

testing::Matrix Chaos::some_matrix(const std::string& name) {
  testing::Matrix matrix{.name = name, .cells = {}, .seeds = {}};
  const std::vector<std::string> all = {"a", "b", "c"};
  for (const std::string& cell : all) {
    if (world_.random.chance(0.5)) matrix.cells.push_back(cell);
  }
  if (matrix.cells.empty()) matrix.cells = {"a"};
  if (world_.random.chance(0.1)) matrix.cells.push_back("diverges");
  if (world_.random.chance(0.1)) matrix.cells.push_back("poison");
  for (std::int64_t seed = world_.random.between(0, 1); seed >= 0; --seed) matrix.seeds.push_back(seed);
  matrix.evaluate = world_.random.chance(0.8);
  matrix.measure = world_.random.chance(0.4);
  matrix.priority = static_cast<int>(world_.random.between(0, 1));
  if (world_.random.chance(0.3)) matrix.dataset = "d";
  if (world_.random.chance(0.3)) matrix.stage_seconds = world_.random.between(5, 60);
  give_owner(matrix);
  return matrix;
}

// People try again until the server answers.
void Chaos::insist(std::function<absl::Status()> operation) {
  const absl::Status status = operation();
  using enum absl::StatusCode;
  const bool again = status.code() == kUnavailable || status.code() == kAborted;
  if (!again) {
    --pending_;
    return;
  }
  world_.at(world_.now() + 3 * kSecond, [this, operation] { insist(operation); });
}

void Chaos::plan_person() {
  ServerProcess& server = cluster_.server;
  const auto plan_one = [this](Microseconds at, const std::string& what, std::function<absl::Status()> operation) {
    person(at, what, std::move(operation));
  };
  auto submit = [&](Microseconds at, const std::string& name) {
    plan_one(at, "submits " + name, [&server, matrix = some_matrix(name)] { return server.submit(matrix); });
  };
  auto change = [&](Microseconds at, const std::string& name, ExperimentState to) {
    plan_one(at, std::string("makes ") + name + " " + to_string(to),
             [&server, name, to] { return server.set_state(name, to); });
  };
  submit(kSecond, "one");
  if (world_.random.chance(0.5)) submit(world_.random.between(1, 100) * kSecond, "two");
  const auto changes = world_.random.between(0, 4);
  for (std::int64_t i = 0; i < changes; ++i) {
    const Microseconds at = world_.random.between(5, 250) * kSecond;
    const std::string name = world_.random.chance(0.7) ? "one" : "two";
    switch (world_.random.between(0, 3)) {
      case 0:
        submit(at, name);
        break;  // extended, shrunk or revived
      case 1:
        change(at, name, ExperimentState::kPaused);
        break;
      case 2:
        change(at, name, ExperimentState::kCancelled);
        break;
      default:
        change(at, name, ExperimentState::kActive);
    }
  }
  const auto more = world_.random.between(0, 5);
  for (std::int64_t i = 0; i < more; ++i) plan_more(world_.random.between(5, 280) * kSecond);
  if (world_.random.chance(0.6)) plan_searches();
  if (shared_) plan_shares();
  if (shared_) plan_estimates();
  // In the end, when nothing else is left to say, whatever is paused goes on, and whoever drains works again.
  plan_one(kTrouble + kSecond, "resumes everything", [this, &server] {
    if (pending_ > 1) return absl::UnavailableError("not yet");
    for (const std::string& name : names_) {
      const absl::Status status = server.set_state(name, ExperimentState::kActive);
      if (absl::IsUnavailable(status)) return status;
    }
    for (const auto& worker : cluster_.workers) {
      const absl::Status status = server.drain(worker->name(), Drain::kNone);
      if (absl::IsUnavailable(status)) return status;
    }
    return absl::OkStatus();
  });
  world_.at(kTrouble + 60 * kSecond, [this] { tend(50); });
}

void Chaos::person(Microseconds at, const std::string& what, std::function<absl::Status()> operation) {
  ++pending_;
  world_.at(at, [this, what, operation] {
    world_.trace("a person: ", what);
    insist(operation);
  });
}

// Drains, reruns, deletions and garbage collection, in between everything else.
void Chaos::plan_more(Microseconds at) {
  ServerProcess& server = cluster_.server;
  const std::string name = world_.random.chance(0.7) ? "one" : "two";
  const std::string worker = some_worker().name();
  const auto what = world_.random.between(0, 5);
  const Drain to = what == 0 ? Drain::kStopWork : what == 1 ? Drain::kNoNewWork : Drain::kNone;
  const Microseconds in = at / kSecond % 2 == 0 ? 0 : 20 * kSecond;
  const bool erase = what == 4 && world_.random.chance(0.3);
  ++pending_;
  world_.at(at, [this, &server, name, worker, what, to, in, erase] {
    insist([&server, name, worker, what, to, in, erase] {
      if (what <= 2) return server.drain(worker, to, in);
      if (what == 3) return server.rerun(name);
      if (erase) return server.erase(name);
      return server.collect_garbage();
    });
  });
}

// What the server paused or drained by itself, and what a bound keeps waiting, a person looks at and lets go on.
void Chaos::tend(int times) {
  ServerProcess& server = cluster_.server;
  for (const std::string& name : names_) (void)server.set_state(name, ExperimentState::kActive);
  for (const auto& worker : cluster_.workers) (void)server.drain(worker->name(), Drain::kNone);
  lift_bounds();
  if (times == 0) {  // what still waits may wait for the data of the one worker of a kind
    for (const auto& worker : cluster_.workers) worker->repair_data();
  }
  if (times > 0) world_.at(world_.now() + 60 * kSecond, [this, times] { tend(times - 1); });
}

}  // namespace locus::simulation

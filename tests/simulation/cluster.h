// What a history is played on, and the invariants asked of it after every step.
#pragma once

#include <memory>
#include <vector>

#include "tests/simulation/worker.h"

namespace locus::simulation {

inline constexpr LeasePolicy kWorkerPolicy{.heartbeat = 5 * kSecond, .fence = 20 * kSecond, .grace = 120 * kSecond};
SchedulerPolicy server_policy();

class Cluster {
 public:
  Cluster(World& world, Mutant mutant);

  World& world;
  Network network;
  Ledger ledger;
  ServerProcess server;
  std::vector<std::unique_ptr<WorkerProcess>> workers;  // the last one is a twin of the first, off at the start

  void check_step();
  void check_end();
  bool settled();  // every stage is terminal, and has been for so long that every search has seen it

 private:
  void check_executors() const;
  void check_bounds() const;
  void check_nothing_forgotten(StageId id) const;
  void check_reasons(StageId id, const StageRecord& record);
  void check_reason(StageId id);
  void check_some_reason();

  const Scheduler* last_scheduler_ = nullptr;
  Microseconds searches_end_ = 0;
  StageId last_asked_ = 0;  // why it waits
};

}  // namespace locus::simulation

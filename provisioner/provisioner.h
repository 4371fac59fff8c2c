// Keeps a pool as large as what waits wants it. It only starts workers, who end by themselves (locus worker
// --exit-when-idle; those of the least that it keeps only when their time is over), and remembers nothing: killed, started
// again or started twice it goes by what the engine says.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/worker_service.pb.h"
#include "provisioner/engine.h"
#include "provisioner/pool.h"

namespace locus {

inline constexpr std::chrono::seconds kProvisionEvery{15};

// What a look at the pool found, and did.
struct ProvisionRound {
  std::int64_t queued = 0;  // stages, of every pool
  int wanted = 0, there = 0, started = 0;
  bool operator==(const ProvisionRound&) const = default;
};

// Asks the server what waits.
using AskDemand = std::function<absl::StatusOr<v1::Demand>()>;

// Has a worker of that name in: the token it enrolls with. Nothing to call where the server asks nobody who they are.
using InviteWorker = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// Thread-compatible. `engine` must outlive it.
class Provisioner {
 public:
  Provisioner(std::string pool, PoolRules rules, Engine& engine, AskDemand demand, InviteWorker invite = {})
      : pool_(std::move(pool)),
        rules_(std::move(rules)),
        engine_(engine),
        demand_(std::move(demand)),
        invite_(std::move(invite)) {}

  // One look: asks server and engine, and starts what is lacking. What failed is in the status; the next look mends it.
  absl::StatusOr<ProvisionRound> look();

 private:
  absl::Status start(int workers, int lacking);

  const std::string pool_;
  const PoolRules rules_;
  Engine& engine_;
  const AskDemand demand_;
  const InviteWorker invite_;
};

// SIGTERM and SIGINT wait for keep_provisioning() from here on. Call it from the main thread, before there are others.
void hold_end_signals();

// Looks every `pace` until SIGTERM or SIGINT, which are held; what fails is logged and tried again. `looked` is told of rounds
// that differ from the one before.
void keep_provisioning(Provisioner& provisioner, std::chrono::seconds pace,
                       const std::function<void(const ProvisionRound&)>& looked);

}  // namespace locus

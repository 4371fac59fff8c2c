// Processes that train one model together, each on its part of every batch. They exchange tensors: sums of all, to the same
// bits on every one of them.
#pragma once

#include <chrono>

#include "engine/base/peers.h"
#include "engine/distributed/place.h"

namespace locus::engine {

// All processes must ask for the same exchanges in the same order. What waits throws PeerLostError when a process is gone,
// or silent beyond the time-out; the group is of no use afterwards. Destroyed: the others' exchanges end likewise. Not
// thread-safe.
class Gang : public Peers {
 public:
  // A sum under way. Dropping it does not wait.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;

  int rank() const { return rank_; }
  int world() const { return world_; }
  bool leads() const { return rank_ == 0; }

  // Begins to replace `tensor`, contiguous and of the same shape and type everywhere, by the sum over all processes. It must
  // be left alone until the wait is over.
  virtual std::unique_ptr<Pending> begin_sum(const Tensor& tensor) = 0;
  void sum(const Tensor& tensor) override { begin_sum(tensor)->wait(); }
  // How long exchanges that are asked for from now on wait for another process. None may be under way.
  virtual void wait_at_most(std::chrono::milliseconds time) = 0;
  // The value that rank 0 gave. No process returns before all have called.
  std::int64_t of_leader(std::int64_t value);

 protected:
  Gang(int rank, int world) : rank_(rank), world_(world) {}

 private:
  int rank_, world_;
};

// Why processes on devices of that kind ("cpu", "cuda") cannot train one model together here: a predicate, "cannot train on
// several GPUs together: ...". Empty: they can.
std::string no_gang_on(const std::string& device);

// Waits until all processes have come. Throws PeerLostError when they do not within the time-out, std::invalid_argument for a
// place that is none and for devices between which nothing can be exchanged here (no_gang_on).
std::unique_ptr<Gang> join_gang(const GangPlace& place, at::Device device);

}  // namespace locus::engine

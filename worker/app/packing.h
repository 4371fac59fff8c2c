// Several slots on one GPU: which of them take work, and whose failure is that of a neighbor.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

struct PackingPolicy {
  Microseconds together = 1'000'000;      // faults of one GPU within this time are one event
  Microseconds rest_first = 600'000'000;  // how long a slot is withdrawn, doubled each time
  Microseconds rest_most = 14'400'000'000;
};

// Memory of a GPU is not shared out between processes, so a stage may run out of it because of what runs beside it, and
// under MPS a fatal fault of one process ends its neighbors' work, too (NVIDIA, Multi-Process Service, "Limited error
// containment"). Neither is the stage's fault. Time is given, of one steady clock. Thread-safe.
class Packing {
 public:
  // `gpus`: of each slot, in their order; -1: a slot that shares nothing, with which nothing ever happens.
  explicit Packing(const std::vector<int>& gpus, PackingPolicy policy = {});

  void begun(int slot);  // an attempt runs there until ended()
  void ended(int slot);
  // Changes the outcome of the attempt that runs in `slot` where a neighbor had its part in it: to `preempted`, which
  // counts as no failure, and says why. After exhausted memory the slot is withdrawn. True: it was changed.
  bool judge(int slot, v1::CompleteAttemptRequest& outcome, Microseconds now);
  bool withdrawn(int slot) const;
  // Those whose rest is over; they are withdrawn no more.
  std::vector<int> come_back(Microseconds now);

 private:
  struct Lane {
    int gpu = -1;
    bool busy = false;
    Microseconds back_at = 0;  // 0: not withdrawn
  };
  struct Gpu {
    Microseconds memory_at = 0, fault_at = 0;  // of the last event; 0: none
    int withdrawals = 0;
  };
  int working(int gpu, int besides) const;
  void withdraw(Lane& lane, Gpu& gpu, Microseconds now);

  const PackingPolicy policy_;
  mutable std::mutex mutex_;
  std::vector<Lane> lanes_;
  std::map<int, Gpu> gpus_;
};

// Whether an error's text is of a GPU that is lost to its process, as CUDA words it.
bool tells_device_fault(const std::string& text);

// The pipe directory of NVIDIA's MPS if its control daemon has one: CUDA_MPS_PIPE_DIRECTORY (`directory`), or its default.
// Empty: processes take turns on the GPU.
std::string mps_directory(const std::string& directory, const std::string& standard = "/tmp/nvidia-mps");

}  // namespace locus

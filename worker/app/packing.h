// Several slots on one GPU: which of them take work, and whose failure is that of a neighbor.
#pragma once

#include <condition_variable>
#include <functional>
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
  // What the stages on a device may take together, each with its context, by the device's number; of others nobody counts.
  std::map<int, std::int64_t> memory = {};
  std::int64_t context = 0;     // what a process takes beside its tensors
  std::int64_t unknown = 0;     // taken for what a stage needs of which nothing is known
  std::string device = "GPU ";  // before its number, for people
};

// What one that waits asks of its device's memory, processes' contexts among it, and how much of it the others take.
struct MemoryRoom {
  std::int64_t asked = 0;  // kWholeDevice: all of it
  std::int64_t used = 0;
  std::int64_t whole = 0;  // 0: nobody counts
  int before = 0;          // that wait, too, and came first
};
std::string room_text(const MemoryRoom& room);  // "12.5 GiB asked, 3 of 80 GiB free, 77 GiB used; 1 came before it"

// Memory of a GPU is not shared out between processes, so a stage may run out of it because of what runs beside it, and
// under MPS a fatal fault of one process ends its neighbors' work, too (NVIDIA, Multi-Process Service, "Limited error
// containment"). Neither is the stage's fault. Time is given, of one steady clock. Thread-safe.
class Packing {
 public:
  // `gpus`: of each slot, in their order; -1: a slot that shares nothing, with which nothing ever happens.
  explicit Packing(const std::vector<int>& gpus, PackingPolicy policy = {});

  void begun(int slot, std::int64_t bytes = 0);  // an attempt that takes so much runs there until ended()
  void ended(int slot);
  // The same once its device has room for `bytes` (0: not known, kWholeDevice: all of it), after those who waited before. A
  // stage alone on a device has room, however large it is. False: `gives_up` said yes, asked first and at every
  // look_again(), under our lock; then nothing has begun. `waits` is told how things are whenever there is no room, likewise.
  bool begin_when_there_is_room(int slot, std::int64_t bytes, const std::function<bool()>& gives_up,
                                const std::function<void(const MemoryRoom&)>& waits = {});
  void look_again();
  bool room(int slot, std::int64_t bytes) const;  // now, whoever waits
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
    std::int64_t bytes = 0;    // while busy
    std::int64_t waiting = 0;  // its place in the queue; 0: it does not wait
    Microseconds back_at = 0;  // 0: not withdrawn
  };
  struct Gpu {
    Microseconds memory_at = 0, fault_at = 0;  // of the last event; 0: none
    int withdrawals = 0;
  };
  int working(int gpu, int besides) const;
  bool has_room(const Lane& lane, std::int64_t bytes) const;
  std::int64_t taken(std::int64_t bytes) const;
  MemoryRoom room_for(const Lane& lane, std::int64_t bytes) const;
  std::string name_of(int gpu) const;
  void withdraw(Lane& lane, Gpu& gpu, Microseconds now);

  const PackingPolicy policy_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t places_ = 0;  // given out in queues
  std::vector<Lane> lanes_;
  std::map<int, Gpu> gpus_;
};

// Whether an error's text is of a GPU that is lost to its process, as CUDA words it.
bool tells_device_fault(const std::string& text);

// The pipe directory of NVIDIA's MPS if its control daemon has one: CUDA_MPS_PIPE_DIRECTORY (`directory`), or its default.
// Empty: processes take turns on the GPU.
std::string mps_directory(const std::string& directory, const std::string& standard = "/tmp/nvidia-mps");

}  // namespace locus

// Samples what machine and trainers do, on a thread of its own: neither training nor heartbeats wait for it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/app/nvml.h"
#include "worker/app/proc.h"
#include "worker/link/samples.h"

namespace locus {

// An attempt that runs, and where.
struct SampledAttempt {
  LeaseBook::Key key;
  pid_t trainer = 0;
  int gpu = -1;  // as nvidia-smi counts; -1: none
};

// Thread-safe.
class Sampler {
 public:
  using Running = std::function<std::vector<SampledAttempt>()>;  // called on the sampler's thread

  // `gpus`: those offered. `interval` zero: never samples.
  Sampler(Running running, std::vector<int> gpus, std::chrono::milliseconds interval);
  ~Sampler() { stop(); }

  void start();
  void stop();
  SystemSamples take();  // what is new since the last time

 private:
  void run();
  void sample();

  const Running running_;
  const std::vector<int> gpus_;
  const std::chrono::milliseconds interval_;
  ProcReader proc_;
  Nvml nvml_;
  std::mutex mutex_;
  std::condition_variable changed_;
  SystemSamples fresh_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace locus

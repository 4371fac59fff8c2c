// How much memory stages took on their devices, on whichever worker: what one found out serves the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/experiment/model.h"
#include "locus/v1/worker_service.pb.h"

namespace locus::server {

// Known since this server started, for workers remember it, too, and say it again. Thread-safe.
class MemoryDesk {
 public:
  // Whether learn() would find anything in it.
  static bool tells(const v1::CompleteAttemptRequest& ended);
  // From an attempt of that stage which has ended: what it took, and of a measurement what trainings of each batch took.
  void learn(const StageRow& stage, const v1::CompleteAttemptRequest& ended) ABSL_LOCKS_EXCLUDED(mutex_);
  // The most that the like of a stage took on that kind of device; 0: not known.
  std::int64_t needed(const std::string& device, const std::string& config_json) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Load = std::pair<std::string, std::string>;  // kind of device, memory_load_of()
  void raise(const Load& load, double bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<Load, std::int64_t> most_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server

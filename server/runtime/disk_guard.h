// What a disk that fills up forbids: new work first, then everything that stores.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace locus::server {

enum class DiskState { kOk, kLow, kFull };
const char* to_string(DiskState state);  // "ok", "disk-low", "disk-full"

// Thread-safe. Told by whoever looks at the disk, asked by whoever stores.
class DiskGuard {
 public:
  // RESOURCE_EXHAUSTED (DISK_FULL, with retry_seconds) while the disk is low or full.
  absl::Status admit_work() const { return admit(DiskState::kLow, "nothing new is started"); }
  // The same while it is full.
  absl::Status admit_data() const { return admit(DiskState::kFull, "nothing is stored"); }

  void set(DiskState state, std::int64_t free_bytes, std::int64_t database_bytes);
  DiskState state() const;
  std::int64_t free_bytes() const;
  std::int64_t database_bytes() const;  // with its log
  std::string reason() const;           // a sentence; empty when ok

 private:
  absl::Status admit(DiskState refused_from, const char* consequence) const;

  mutable absl::Mutex mutex_;
  DiskState state_ ABSL_GUARDED_BY(mutex_) = DiskState::kOk;
  std::int64_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t database_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::server

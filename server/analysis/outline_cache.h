// The outlines of stored experiments, kept per revision: views and tables read them on every call.
#pragma once

#include <list>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/analysis/outline.h"
#include "core/ports/store.h"

namespace locus::server {

// Thread-safe. `store` must outlive it.
class OutlineCache {
 public:
  explicit OutlineCache(Store& store) : store_(store) {}
  absl::StatusOr<std::shared_ptr<const Outline>> get(const ExperimentRow& row);

 private:
  using Key = std::pair<ExperimentId, std::int64_t>;  // experiment, revision
  Store& store_;
  absl::Mutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<const Outline>>> recent_ ABSL_GUARDED_BY(mutex_);  // newest use first
  std::size_t cells_ ABSL_GUARDED_BY(mutex_) = 0;                                             // of all of them
};

}  // namespace locus::server

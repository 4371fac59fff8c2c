// The outlines of stored experiments, kept per revision: views and tables read them on every call.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <tuple>
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
  // Of an experiment with phases that of the one named, by default the last; its cells that use a choice keep "$chosen" in their
  // assignments. Cells that a client proposed are those stored. INVALID_ARGUMENT for a phase that the experiment does not have.
  absl::StatusOr<std::shared_ptr<const Outline>> get(const ExperimentRow& row, const std::string& phase = {});

 private:
  // Experiment, revision, phase, cells that a client has proposed.
  using Key = std::tuple<ExperimentId, std::int64_t, std::string, std::size_t>;
  absl::StatusOr<Outline> make(const ExperimentRow& row, const std::string& phase,
                               const std::vector<CellRow>& proposed);

  Store& store_;
  absl::Mutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<const Outline>>> recent_ ABSL_GUARDED_BY(mutex_);  // newest use first
  std::size_t cells_ ABSL_GUARDED_BY(mutex_) = 0;                                             // of all of them
};

}  // namespace locus::server

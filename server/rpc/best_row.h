// The best row of every experiment's leaderboard, kept: lists of experiments show it.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/rpc/outline.h"

namespace locus::server {

// Computed by compute_table, so it is the leaderboard's first row. A row is kept as long as the experiment
// has the same revision (what belongs to it), as many succeeded stages and the same newest end of an attempt:
// results are stored with these ends, and with nothing else. Thread-safe; `store` and `outlines` must outlive
// it.
class BestRows {
 public:
  BestRows(Store& store, OutlineCache& outlines) : store_(store), outlines_(outlines) {}

  // Nothing before any result, and where the leaderboard cannot be computed: asked for itself, it says why.
  // Blocks.
  std::optional<v1::BestRow> of(const ExperimentRow& row, const StageCounts& counts);

 private:
  using Version =
      std::tuple<std::int64_t, std::int64_t, Microseconds>;  // revision, stages succeeded, newest end
  std::optional<v1::BestRow> compute(const ExperimentRow& row);

  Store& store_;
  OutlineCache& outlines_;
  absl::Mutex mutex_;
  std::map<ExperimentId, std::pair<Version, std::optional<v1::BestRow>>> rows_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server

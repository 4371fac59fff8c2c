// The best row of every experiment's leaderboard, kept: lists of experiments show it.
#pragma once

#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/ports/queries.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/analysis/leaderboard_query.h"

namespace locus::server {

// The leaderboard's first row, kept as long as the leaderboard stays the same. Thread-safe; `leaderboards`
// must outlive it.
class BestRows {
 public:
  explicit BestRows(Leaderboards& leaderboards) : leaderboards_(leaderboards) {}

  // Nothing before any result, and where the leaderboard cannot be computed: asked for itself, it says why.
  // Blocks.
  std::optional<v1::BestRow> of(const ExperimentRow& row, const StageCounts& counts);

 private:
  std::optional<v1::BestRow> compute(const ExperimentRow& row, const StageCounts& counts);

  Leaderboards& leaderboards_;
  absl::Mutex mutex_;
  std::map<ExperimentId, std::pair<TableVersion, std::optional<v1::BestRow>>> rows_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server

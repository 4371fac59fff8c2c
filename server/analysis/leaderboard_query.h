// The leaderboard of an experiment: gathers what the table needs, lets core/statistics compute it, writes it
// down.
#pragma once

#include "absl/status/statusor.h"
#include "core/analysis/queries.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/analysis/kept_answers.h"
#include "server/analysis/outline_cache.h"

namespace locus::server {

// Everything a table of one experiment is computed from, as stored.
struct LeaderboardSource {
  std::string experiment;
  Outline outline;
  std::vector<CellRow> cells;
  std::vector<TrialView> trials;  // unretired; of their stages id, kind and state
  ResultsByStage results;
  std::map<StageId, std::string> environments;  // of succeeded stages, JSON
  std::map<std::int64_t, std::string>
      standing;  // cells that their search did not send to the end (core/analysis/tuned.h)
};

// Pure. `request` may name another metric, split or label set than the contract's. INVALID_ARGUMENT for
// one that nobody knows, and for labels of another form.
absl::StatusOr<v1::Table> leaderboard_of(const LeaderboardSource& source, const v1::GetTableRequest& request);

// Everything stored that a table is computed from; of an experiment with phases, of the one named, by default the last. INVALID_ARGUMENT for
// one that it does not have. Blocks. Thread-safe.
absl::StatusOr<LeaderboardSource> read_leaderboard_source(Store& store, OutlineCache& outlines,
                                                          const ExperimentRow& row, const std::string& phase = {});

// Tables read and computed, and kept while nothing they depend on has changed. Thread-safe; `store` and
// `outlines` must outlive it. Blocks.
class Leaderboards {
 public:
  Leaderboards(Store& store, OutlineCache& outlines) : store_(store), outlines_(outlines) {}
  absl::StatusOr<std::shared_ptr<const v1::Table>> get(const v1::GetTableRequest& request);
  // What the tables of an experiment depend on, its search included.
  absl::StatusOr<TableVersion> version(const ExperimentRow& row, const StageCounts& counts) const;
  // The same where row and counts are at hand, of the experiment that `request` names.
  absl::StatusOr<std::shared_ptr<const v1::Table>> of(const ExperimentRow& row, const StageCounts& counts,
                                                      const v1::GetTableRequest& request);

 private:
  static constexpr std::size_t kBytesKept = 64 << 20;
  Store& store_;
  OutlineCache& outlines_;
  KeptAnswers<v1::Table> kept_{kBytesKept};
};

}  // namespace locus::server

// How many workers a pool is to have. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/experiment/labels.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

struct PoolRules {
  int min = 0, max = 1;                         // workers
  std::int64_t seconds_per_worker = 3600;       // so much waiting device time is worth one
  std::int64_t seconds_without_estimate = 600;  // what a stage counts of which no run tells
  std::int64_t memory_bytes = 0;  // of a worker's device: what needs more is not for this pool; 0: not said
  std::int64_t slots = 0;         // of a worker: what takes more of one is not for this pool; 0: not said
  std::optional<std::set<std::string>> datasets;  // that its workers hold; absent: every one
  Labels labels;                                  // that its workers have; "pool" among them
  bool more_labels = true;                        // they may have any other, too: the settings name none
};

// The keys of `settings` that say what the pool of that name is for; `engine` is the key that its engine reads.
// INVALID_ARGUMENT for any other, or for bounds that contradict each other.
absl::StatusOr<PoolRules> read_pool_rules(const Json& settings, const std::string& engine, const std::string& pool,
                                          int min, int max);

// Between min and max, by what waits and could run on this pool's workers.
int workers_wanted(const PoolRules& rules, const v1::Demand& demand);

// Of what is lacking at most a quarter of max, or one, at a time: what is wrong with a pool is seen before it is large, and
// two provisioners that count at the same moment start little too much.
int workers_to_start(const PoolRules& rules, int wanted, int there);

}  // namespace locus

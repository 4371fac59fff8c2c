// The stages that could start now, in grant order, grouped by what they ask of a worker.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/experiment/model.h"

namespace locus {

// Grant order: priority (high first), then experiment (old first), then stages that follow on others before
// those that begin a trial, then trial order: users see complete rows early.
struct ReadyKey {
  int negative_priority = 0;
  ExperimentId experiment = 0;
  int begins_trial = 0;
  std::int64_t trial = 0;
  StageId stage = 0;
  auto operator<=>(const ReadyKey&) const = default;
};

// Thread-compatible.
class ReadyQueue {
 public:
  void insert(int requirement, const ReadyKey& key) { groups_[requirement].insert(key); }
  void erase(int requirement, const ReadyKey& key);
  // The first stage in grant order whose requirement `accept` takes. `accept` is asked once per requirement,
  // not per stage.
  std::optional<ReadyKey> first(const std::function<bool(int requirement)>& accept) const;
  // How many stages come before this one, counted up to `most`.
  int ahead_of(const ReadyKey& key, int most) const;
  bool empty() const { return groups_.empty(); }

 private:
  std::map<int, std::set<ReadyKey>> groups_;  // none empty
};

}  // namespace locus

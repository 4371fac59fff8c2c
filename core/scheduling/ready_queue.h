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

// Grant order: priority (high first), then experiment (old first), then stages that run alone after the others,
// since each of them empties a device, then those that a search wants to go further (to the end first), since what waits at
// a rung holds up everything behind it, then stages that follow on others before those that begin a trial, then trial
// order: users see complete rows early.
struct ReadyKey {
  int negative_priority = 0;
  ExperimentId experiment = 0;
  int exclusive = 0;
  std::int64_t negative_stop = 0;  // of the link; the least of all where it wants the end, as without a search
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
  // The first stage in grant order that `accept` takes. Only the first of each requirement is shown to it: if
  // that one is rejected, so are all later ones with the same requirement.
  std::optional<ReadyKey> first(const std::function<bool(int requirement, const ReadyKey& key)>& accept) const;
  // Shows the stages of the requirements that `admitted` names in grant order. `visit` returns whether to go
  // on with that requirement.
  void visit(const std::function<bool(int requirement)>& admitted,
             const std::function<bool(int requirement, const ReadyKey& key)>& visit) const;
  // How many stages come before this one, counted up to `most`.
  int ahead_of(const ReadyKey& key, int most) const;
  bool empty() const { return groups_.empty(); }
  std::size_t size() const;

 private:
  std::map<int, std::set<ReadyKey>> groups_;  // none empty
};

}  // namespace locus

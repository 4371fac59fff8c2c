// The stages that could start now, in grant order, by lane and by what they ask of a worker.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// Grant order within a lane: priority (high first), then experiment (old first), then stages that run alone after the others,
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

// Whose work it is, and how urgent. Which lane comes before which changes with every grant (Records::turns), so it is no
// part of the key.
struct Lane {
  ServiceClass service_class = ServiceClass::kNormal;
  int account = 0;  // its number; while nobody has a share 0 for all
  auto operator<=>(const Lane&) const = default;
};

// A place in grant order as it is at the moment.
struct Turn {
  std::size_t rank = 0;  // of its lane
  Lane lane;
  ReadyKey key;
  int requirement = 0;
  auto operator<=>(const Turn&) const = default;
};

// A stage that several want may stand in several lanes; it is to be taken out of all of them. Thread-compatible.
class ReadyQueue {
 public:
  void insert(const Lane& lane, int requirement, const ReadyKey& key) { lanes_[lane][requirement].insert(key); }
  void erase(const Lane& lane, int requirement, const ReadyKey& key);
  std::vector<Lane> lanes() const;  // those with stages
  // The first stage that `accept` takes, lane by lane in `order`. Only the first of each lane and requirement is shown to
  // it: if that one is rejected, so are all later ones of the same.
  std::optional<Turn> first(const std::vector<Lane>& order,
                            const std::function<bool(int requirement, const Turn& turn)>& accept) const;
  // Shows the stages of the requirements that `admitted` names in that order. `visit` returns whether to go on with that
  // requirement in that lane.
  void visit(const std::vector<Lane>& order, const std::function<bool(int requirement)>& admitted,
             const std::function<bool(int requirement, const Turn& turn)>& visit) const;
  bool any(const std::function<bool(int requirement)>& admitted) const;  // a stage of such a requirement
  // How many stages of the same lane come before this one, counted up to `most`.
  int ahead_of(const Lane& lane, const ReadyKey& key, int most) const;
  std::size_t size() const;  // stages
  std::size_t size(const Lane& lane) const;

 private:
  using Group = std::map<int, std::set<ReadyKey>>;
  std::map<Lane, Group> lanes_;  // none empty, nor any set
};

}  // namespace locus

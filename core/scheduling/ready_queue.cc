// The ready queue: see ready_queue.h.
#include "core/scheduling/ready_queue.h"

#include <unordered_set>

namespace locus {

void ReadyQueue::erase(const Lane& lane, int requirement, const ReadyKey& key) {
  const auto here = lanes_.find(lane);
  if (here == lanes_.end()) return;
  const auto group = here->second.find(requirement);
  if (group == here->second.end()) return;
  group->second.erase(key);
  if (group->second.empty()) here->second.erase(group);
  if (here->second.empty()) lanes_.erase(here);
}

std::vector<Lane> ReadyQueue::lanes() const {
  std::vector<Lane> out;
  for (const auto& [lane, group] : lanes_) out.push_back(lane);
  return out;
}

std::optional<Turn> ReadyQueue::first(const std::vector<Lane>& order,
                                      const std::function<bool(int, const Turn&)>& accept) const {
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto here = lanes_.find(order[rank]);
    if (here == lanes_.end()) continue;
    std::optional<Turn> best;
    for (const auto& [requirement, keys] : here->second) {
      const Turn turn{rank, order[rank], *keys.begin(), requirement};
      if ((!best || turn < *best) && accept(requirement, turn)) best = turn;
    }
    if (best) return best;
  }
  return std::nullopt;
}

void ReadyQueue::visit(const std::vector<Lane>& order, const std::function<bool(int)>& admitted,
                       const std::function<bool(int, const Turn&)>& visit) const {
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto here = lanes_.find(order[rank]);
    if (here == lanes_.end()) continue;
    std::map<ReadyKey, std::pair<int, std::set<ReadyKey>::const_iterator>> next;
    for (const auto& [requirement, keys] : here->second) {
      if (admitted(requirement)) next.emplace(*keys.begin(), std::pair(requirement, keys.begin()));
    }
    while (!next.empty()) {
      auto [requirement, key] = next.begin()->second;
      next.erase(next.begin());
      if (!visit(requirement, {rank, order[rank], *key, requirement}) || ++key == here->second.at(requirement).end())
        continue;
      next.emplace(*key, std::pair(requirement, key));
    }
  }
}

bool ReadyQueue::any(const std::function<bool(int)>& admitted) const {
  for (const auto& [lane, group] : lanes_) {
    for (const auto& [requirement, keys] : group) {
      if (admitted(requirement)) return true;
    }
  }
  return false;
}

std::size_t ReadyQueue::size(const Lane& lane) const {
  std::size_t count = 0;
  if (const auto here = lanes_.find(lane); here != lanes_.end()) {
    for (const auto& [requirement, keys] : here->second) count += keys.size();
  }
  return count;
}

std::size_t ReadyQueue::size() const {
  std::unordered_set<StageId> stages;
  for (const auto& [lane, group] : lanes_) {
    for (const auto& [requirement, keys] : group) {
      for (const ReadyKey& key : keys) stages.insert(key.stage);
    }
  }
  return stages.size();
}

int ReadyQueue::ahead_of(const Lane& lane, const ReadyKey& key, int most) const {
  int count = 0;
  const auto here = lanes_.find(lane);
  if (here == lanes_.end()) return 0;
  for (const auto& [requirement, keys] : here->second) {
    for (auto k = keys.begin(); k != keys.end() && *k < key && count < most; ++k) ++count;
  }
  return count;
}

}  // namespace locus

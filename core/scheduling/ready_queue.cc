// The ready queue: see ready_queue.h.
#include "core/scheduling/ready_queue.h"

namespace locus {

void ReadyQueue::erase(int requirement, const ReadyKey& key) {
  auto group = groups_.find(requirement);
  if (group == groups_.end()) return;
  group->second.erase(key);
  if (group->second.empty()) groups_.erase(group);
}

std::optional<ReadyKey> ReadyQueue::first(const std::function<bool(int, const ReadyKey&)>& accept) const {
  std::optional<ReadyKey> best;
  for (const auto& [requirement, keys] : groups_) {
    if ((!best || *keys.begin() < *best) && accept(requirement, *keys.begin())) best = *keys.begin();
  }
  return best;
}

void ReadyQueue::visit(const std::function<bool(int)>& admitted,
                       const std::function<bool(int, const ReadyKey&)>& visit) const {
  std::map<ReadyKey, std::pair<int, std::set<ReadyKey>::const_iterator>> next;
  for (const auto& [requirement, keys] : groups_) {
    if (admitted(requirement)) next.emplace(*keys.begin(), std::pair(requirement, keys.begin()));
  }
  while (!next.empty()) {
    auto [requirement, key] = next.begin()->second;
    next.erase(next.begin());
    if (!visit(requirement, *key) || ++key == groups_.at(requirement).end()) continue;
    next.emplace(*key, std::pair(requirement, key));
  }
}

std::size_t ReadyQueue::size() const {
  std::size_t count = 0;
  for (const auto& [requirement, keys] : groups_) count += keys.size();
  return count;
}

int ReadyQueue::ahead_of(const ReadyKey& key, int most) const {
  int count = 0;
  for (const auto& [requirement, keys] : groups_) {
    for (auto k = keys.begin(); k != keys.end() && *k < key && count < most; ++k) ++count;
  }
  return count;
}

}  // namespace locus

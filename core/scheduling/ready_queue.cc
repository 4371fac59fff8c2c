// The ready queue: see ready_queue.h.
#include "core/scheduling/ready_queue.h"

namespace locus {

void ReadyQueue::erase(int requirement, const ReadyKey& key) {
  auto group = groups_.find(requirement);
  if (group == groups_.end()) return;
  group->second.erase(key);
  if (group->second.empty()) groups_.erase(group);
}

std::optional<ReadyKey> ReadyQueue::first(const std::function<bool(int)>& accept) const {
  std::optional<ReadyKey> best;
  for (const auto& [requirement, keys] : groups_) {
    if ((!best || *keys.begin() < *best) && accept(requirement)) best = *keys.begin();
  }
  return best;
}

int ReadyQueue::ahead_of(const ReadyKey& key, int most) const {
  int count = 0;
  for (const auto& [requirement, keys] : groups_) {
    for (auto k = keys.begin(); k != keys.end() && *k < key && count < most; ++k) ++count;
  }
  return count;
}

}  // namespace locus
